package offers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// shareOut lets every framework take whatever it is offered, until nothing is
// left, and returns how many machines each has.
func shareOut(t *testing.T, cfg offers.Config, machines int, frameworks ...offers.Registration) (cell *omega.Cell, got []int) {
	t.Helper()
	cell, _ = newCell(t, 0, resources.Vector{})
	m := newMaster(t, cell, cfg)
	all := make([]*offers.Framework, len(frameworks))
	for i, r := range frameworks {
		all[i] = register(t, m, r)
	}
	for i := range machines {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{10}})
		require.NoError(t, err)
	}
	require.NoError(t, m.Step(start))
	got = make([]int, len(all))
	for range machines {
		for i, f := range all {
			for _, o := range read(t, f, start).Offers {
				_, err := f.Accept(start, offers.Launch{
					Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: o.Room}},
				})
				require.NoError(t, err)
				got[i]++
			}
		}
	}
	return cell, got
}

func TestOrder_SharesOut(t *testing.T) {
	named := func(r offers.Registration, name, role string) offers.Registration {
		r.Name, r.Role = name, role
		return r
	}
	w := func(weight float64) offers.Registration { return offers.Registration{Weight: weight} }
	p := func(precedence omega.Precedence, most float64) offers.Registration {
		return offers.Registration{Precedence: precedence, Outstanding: most}
	}
	tests := map[string]struct {
		cfg        offers.Config
		frameworks []offers.Registration
		want       []int
	}{
		"evenly":    {offers.Config{}, []offers.Registration{named(w(0), "a", ""), named(w(0), "b", "")}, []int{30, 30}},
		"by weight": {offers.Config{}, []offers.Registration{named(w(1), "a", ""), named(w(2), "b", "")}, []int{20, 40}},
		"over roles, then frameworks": {
			offers.Config{},
			[]offers.Registration{named(w(1), "a", "x"), named(w(1), "b", "x"), named(w(1), "c", "y")},
			[]int{15, 15, 30},
		},
		"who has the precedence gets all": {
			offers.Config{Order: offers.Priority{}},
			[]offers.Registration{named(p(1, 1), "a", ""), named(p(2, 1), "b", ""), named(p(-1, 1), "c", "")},
			[]int{0, 60, 0},
		},
		"the role of the highest precedence": {
			offers.Config{Roles: offers.Priority{}},
			[]offers.Registration{named(p(1, 1), "a", "x"), named(p(3, 1), "b", "y"), named(p(0, 1), "c", "y")},
			[]int{0, 30, 30},
		},
		"one's own": {
			offers.Config{Order: last{}},
			[]offers.Registration{named(p(0, 1), "a", ""), named(p(0, 1), "b", "")},
			[]int{0, 60},
		},
		"one that says nothing": {
			offers.Config{Order: nan{}},
			[]offers.Registration{named(p(0, 1), "a", ""), named(p(0, 1), "b", "")},
			[]int{30, 30},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := shareOut(t, test.cfg, 60, test.frameworks...)
			require.Equal(t, test.want, got)
		})
	}
}

// last puts names that come later in the alphabet first.
type last struct{}

func (last) Rank(s offers.Standing) float64 { return -float64(s.Name[0]) }

// nan has no opinion.
type nan struct{}

func (nan) Rank(offers.Standing) float64 { return math.NaN() }

// Frameworks that are equal before the order take turns, however soon what they were
// offered is free again.
func TestOrder_EqualsTakeTurns(t *testing.T) {
	roles := map[string][]string{
		"one role": {"", "", ""}, "three roles": {"x", "y", "z"}, "two roles": {"x", "x", "y"},
	}
	for name, of := range roles {
		for _, order := range []offers.Order{offers.DRF{}, offers.Priority{}, nan{}} {
			t.Run(fmt.Sprintf("%s/%T", name, order), func(t *testing.T) {
				cell, _ := newCell(t, 1, resources.Vector{10})
				m := newMaster(t, cell, offers.Config{Order: order, Roles: order})
				all := make([]*offers.Framework, len(of))
				for i := range all {
					all[i] = register(t, m, offers.Registration{Name: fmt.Sprint(i), Role: of[i]})
				}
				got := make([]int, len(all))
				for range 60 {
					for i, f := range all {
						got[i] += takeAll(t, f)
					}
				}
				for i := range got {
					require.Greater(t, got[i], 10, "%d of %v", i, got)
				}
			})
		}
	}
}

func TestSetRoleWeight_CountsAtOnce(t *testing.T) {
	cell, _ := newCell(t, 60, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	require.NoError(t, m.SetRoleWeight("y", 2))
	require.ErrorIs(t, m.SetRoleWeight("x", 0), offers.ErrWeight)
	require.ErrorIs(t, m.SetRoleWeight("x", 5e-324), offers.ErrWeight)
	require.ErrorIs(t, m.SetRoleWeight("x", math.MaxFloat64), offers.ErrWeight)
	require.ErrorIs(t, m.SetRoleWeight("x", math.NaN()), offers.ErrWeight)
	require.ErrorIs(t, m.SetRoleWeight("x", math.Inf(1)), offers.ErrWeight)
	first := register(t, m, offers.Registration{Name: "first"})
	x := register(t, m, offers.Registration{Name: "x", Role: "x"})
	y := register(t, m, offers.Registration{Name: "y", Role: "y"})
	require.NoError(t, first.Unregister(start))
	require.Len(t, read(t, x, start).Offers, 20)
	require.Len(t, read(t, y, start).Offers, 40)
}

// Each draw falls to a framework with a chance that is proportional to its
// weight: of 6,000 draws, within four standard deviations.
func TestLottery_DrawsByWeight(t *testing.T) {
	lottery := offers.NewLottery(rand.New(rand.NewPCG(1, 2)))
	weights := []float64{1, 2, 3}
	ranks, won := make([]float64, 3), make([]int, 3)
	for i, w := range weights {
		ranks[i] = lottery.Rank(offers.Standing{Weight: w, New: true})
	}
	streaks, before := 0, -1
	for range 6000 {
		best := 0
		for i := range ranks {
			require.Equal(t, ranks[i], lottery.Rank(offers.Standing{Weight: weights[i], Rank: ranks[i]}))
			if ranks[i] < ranks[best] {
				best = i
			}
		}
		won[best]++
		if best == before {
			streaks++
		}
		before = best
		ranks[best] = lottery.Rank(offers.Standing{Weight: weights[best], Rank: ranks[best], Chosen: true})
	}
	require.InDelta(t, 1000, won[0], 4*math.Sqrt(6000*1.0/6*5/6))
	require.InDelta(t, 2000, won[1], 4*math.Sqrt(6000*1.0/3*2/3))
	require.InDelta(t, 3000, won[2], 4*math.Sqrt(6000*1.0/2*1/2))
	require.InDelta(t, 6000*(1.0/36+4.0/36+9.0/36), streaks, 150, "draws do not depend on the one before")
}

func TestLottery_OrdersAMaster(t *testing.T) {
	_, got := shareOut(t, offers.Config{Order: offers.NewLottery(rand.New(rand.NewPCG(3, 4)))}, 600,
		offers.Registration{Name: "a", Weight: 1, Outstanding: 1}, offers.Registration{Name: "b", Weight: 3, Outstanding: 1})
	require.InDelta(t, 150, got[0], 4*math.Sqrt(600*3.0/16))
}

// Usage by others of an account counts from the next Step on.
func TestOrder_CountsForeignCharges(t *testing.T) {
	cell, _ := newCell(t, 10, resources.Vector{10})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	for st := range cell.Machines() {
		if st.ID.Node() < 4 {
			tx.Claim(omega.Claim{Machine: st.ID, Account: accountOf(cell, "a"), Need: st.Free})
		} else {
			tx.Claim(omega.Claim{Machine: st.ID, Need: st.Free})
		}
	}
	_, err = optimist.Commit(&tx)
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	a := register(t, m, offers.Registration{Name: "a"})
	b := register(t, m, offers.Registration{Name: "b"})
	held, _ := a.Held()
	require.Equal(t, resources.Vector{40}, held)
	for i := 4; i < 8; i++ {
		id, _ := tx.Allocation(i)
		require.NoError(t, optimist.Release(id))
	}
	require.NoError(t, m.Step(at(1)))
	require.Empty(t, read(t, a, at(1)).Offers)
	require.Len(t, read(t, b, at(1)).Offers, 4)
	for i := range 4 {
		id, _ := tx.Allocation(i)
		require.NoError(t, optimist.Release(id))
	}
	require.NoError(t, m.Step(at(2)))
	require.Len(t, read(t, a, at(2)).Offers, 4, "it holds nothing any more")
}

func TestRegister_RejectsInvalidArguments(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	register(t, m, offers.Registration{Name: "there"})
	tests := map[string]struct {
		r   offers.Registration
		err error
	}{
		"no name":             {offers.Registration{}, offers.ErrName},
		"a slash":             {offers.Registration{Name: "a/b"}, offers.ErrName},
		"twice":               {offers.Registration{Name: "there"}, offers.ErrName},
		"negative weight":     {offers.Registration{Name: "f", Weight: -1}, offers.ErrWeight},
		"no number of weight": {offers.Registration{Name: "f", Weight: math.NaN()}, offers.ErrWeight},
		"too much at once":    {offers.Registration{Name: "f", Outstanding: 1.1}, offers.ErrFraction},
		"no number at once":   {offers.Registration{Name: "f", Outstanding: math.NaN()}, offers.ErrFraction},
		"negative minimum":    {offers.Registration{Name: "f", Minimum: resources.Vector{-1}}, resources.ErrQuantity},
		"negative failover":   {offers.Registration{Name: "f", Failover: offers.For(-1)}, offers.ErrSpan},
		"unknown account":     {offers.Registration{Name: "f", Account: 99}, omega.ErrUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.Register(start, test.r)
			require.ErrorIs(t, err, test.err)
		})
	}
	configs := map[string]struct {
		cfg offers.Config
		err error
	}{
		"a slash":            {offers.Config{Name: "a/b"}, offers.ErrName},
		"no timeout at all":  {offers.Config{Timeout: offers.For(0)}, offers.ErrSpan},
		"negative interval":  {offers.Config{Interval: offers.For(-time.Second)}, offers.ErrSpan},
		"negative recovery":  {offers.Config{Recovery: offers.For(-1)}, offers.ErrSpan},
		"negative smallest":  {offers.Config{Smallest: resources.Vector{-1}}, resources.ErrQuantity},
		"more than all long": {offers.Config{LongInCell: 101}, offers.ErrFraction},
		"less than no long":  {offers.Config{LongOnMachine: -1}, offers.ErrFraction},
	}
	for name, test := range configs {
		t.Run(name, func(t *testing.T) {
			_, err := offers.New(cell, test.cfg, start)
			require.ErrorIs(t, err, test.err)
		})
	}
}

// The smallest and the largest weight are far enough apart for any use, and near enough
// that no sum or share of them is infinite, or nothing.
func TestRegister_WeightsAreBounded(t *testing.T) {
	cell, _ := newCell(t, 8, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	var frameworks []*offers.Framework
	for _, r := range []offers.Registration{
		{Name: "large", Weight: drf.MaxWeight}, {Name: "as large", Weight: drf.MaxWeight}, {Name: "small", Weight: drf.MinWeight},
	} {
		frameworks = append(frameworks, register(t, m, r))
	}
	for _, w := range []float64{5e-324, drf.MinWeight / 2, drf.MaxWeight * 2, math.MaxFloat64} {
		_, err := m.Register(start, offers.Registration{Name: "f", Weight: w})
		require.ErrorIs(t, err, offers.ErrWeight)
		require.ErrorContains(t, err, "want 1e-06 to 1e+06")
	}
	require.NoError(t, m.SetRoleWeight("", drf.MinWeight))
	require.NoError(t, m.SetRoleWeight("", drf.MaxWeight))
	require.NoError(t, m.Step(at(31))) // what the first one was offered alone expires
	require.NoError(t, m.Step(at(62)))
	n := make([]int, len(frameworks))
	for i, f := range frameworks {
		n[i] = len(read(t, f, at(62)).Offers)
	}
	require.Positive(t, n[0])
	require.Positive(t, n[1])
	require.LessOrEqual(t, n[2], 1)
}

// touchy is an order that panics once, at the call so many from now.
type touchy struct{ in int }

func (o *touchy) Rank(s offers.Standing) float64 {
	if o.in--; o.in == 0 {
		panic("order")
	}
	return offers.DRF{}.Rank(s)
}

// An order that panics once, in whichever call of a registration, does so then and
// not again and again: a role is there as a whole or not at all.
func TestOrder_PanicsAtANewRoleLeaveNone(t *testing.T) {
	for _, known := range []bool{false, true} {
		for in := 1; ; in++ {
			cell, _ := newCell(t, 4, resources.Vector{10})
			order := &touchy{}
			m := newMaster(t, cell, offers.Config{Roles: order})
			a := register(t, m, offers.Registration{Name: "a"})
			r := offers.Registration{Name: "b", Role: "old"}
			if known {
				register(t, m, r)
			}
			r.Role, r.Epoch = "new", 1
			order.in = in
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				_, err := m.Register(start, r)
				require.NoError(t, err)
				return false
			}()
			order.in = 0
			r.Epoch = 2
			b, err := m.Register(at(1), r)
			require.NoError(t, err)
			require.NoError(t, m.Step(at(2)))
			require.NoError(t, m.Step(at(40)))
			require.NotEmpty(t, read(t, b, at(40)).Offers)
			require.NoError(t, a.Unregister(at(40)))
			require.NoError(t, b.Unregister(at(40)))
			require.NoError(t, m.Step(at(40)))
			require.Empty(t, m.Leftovers())
			if !panicked {
				require.Greater(t, in, 1)
				break
			}
		}
	}
}
