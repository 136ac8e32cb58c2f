package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// settle steps a master at one time until nothing is left to do then.
func settle(t require.TestingT, m *offers.Master, now time.Time) {
	const most = 100 // steps, far beyond what any state of these tests needs
	for range most {
		require.NoError(t, m.Step(now))
		if next, due := m.Next(); !due || next.After(now) {
			return
		}
	}
	require.Fail(t, "the master does not come to rest", "%d steps at %v", most, now)
}

// occupy has a scheduler that is no framework hold room on a machine.
func occupy(t require.TestingT, s *omega.Scheduler, on omega.MachineID, need int64) {
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: on, Need: resources.Vector{need}})
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	require.NoError(t, tx.Err(0))
}

// declined registers a framework with a guarantee that has declined once: others with requests
// are ahead of it by that alone.
func declined(tb testing.TB, m *offers.Master, guaranteed int64) *offers.Framework {
	tb.Helper()
	f := register(tb, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{guaranteed}})
	require.NoError(tb, f.Decline(start, offers.For(time.Hour), ids(read(tb, f, start).Offers)...))
	require.NoError(tb, f.Suppress(start))
	return f
}

// A gang of a guarantee would have room on one of two machines that are reserved for another
// gang. The reservation stays: without it there is no room for the first gang either.
func TestRequest_WithinAGuaranteeEndsOnlyUsefulReservations(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{4})
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	occupy(t, other, machines[1], 3)
	m := newMaster(t, cell, offers.Config{})
	owner := declined(t, m, 8)
	g := register(t, m, offers.Registration{Name: "g", Suppressed: true})
	_, err = g.Request(start, offers.Request{Machines: 2, Each: resources.Vector{4}})
	require.NoError(t, err)
	settle(t, m, start)
	first := reservationsOf(t, other, start)
	require.Len(t, first, 1)

	_, err = owner.Request(start, offers.Request{Machines: 2, Each: resources.Vector{4}, Revoke: true})
	require.NoError(t, err)
	settle(t, m, start)
	require.Equal(t, first, reservationsOf(t, other, start))
	require.Empty(t, read(t, owner, start).Answers)
}

// Another scheduler has reserved a machine before the master has, for one of two requests. A request
// of a guarantee has no room there even if the master's reservation ends. The master then reserves
// no room for the first request at once: it would end that reservation again.
func TestRequest_IsPostponedWhereAnotherSchedulerReserves(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{4})
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	occupy(t, other, machines[1], 3)
	m := newMaster(t, cell, offers.Config{})
	owner := declined(t, m, 4)
	g := register(t, m, offers.Registration{Name: "g", Suppressed: true})
	var tx omega.Txn
	tx.Reserve(at(100), omega.Claim{Machine: machines[0], Need: resources.Vector{4}})
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	_, err = g.Request(start, offers.Request{Machines: 2, Each: resources.Vector{1}})
	require.NoError(t, err)
	settle(t, m, start)
	_, err = owner.Request(start, offers.Request{Machines: 2, Each: resources.Vector{1}, Revoke: true})
	require.NoError(t, err)
	for s := range 60 {
		settle(t, m, at(float64(s)))
	}
}

// Whatever frameworks ask for, others hold and other schedulers reserve, a master comes to rest
// at each time.
func TestStep_ComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := func(name string) resources.Vector { return resources.Vector{rapid.Int64Range(1, 4).Draw(t, name)} }
		cell, err := omega.NewCell(omega.Config{Reserved: 1})
		require.NoError(t, err)
		ids := make([]omega.MachineID, rapid.IntRange(1, 4).Draw(t, "machines"))
		for i := range ids {
			ids[i], err = cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: amount("capacity").Add(resources.Vector{1})})
			require.NoError(t, err)
		}
		cfg := offers.Config{}
		if rapid.Bool().Draw(t, "at once") {
			cfg.Grace = offers.For(0)
		}
		m, err := offers.New(cell, cfg, start)
		require.NoError(t, err)
		other, err := cell.Register("other", omega.Limits{Lowest: -1, Highest: 1})
		require.NoError(t, err)
		all := make([]*offers.Framework, rapid.IntRange(1, 3).Draw(t, "frameworks"))
		for i := range all {
			r := offers.Registration{Name: fmt.Sprint(i), Suppressed: rapid.Bool().Draw(t, "suppressed")}
			if rapid.Bool().Draw(t, "guaranteed") {
				r.Guaranteed = amount("guarantee")
			}
			if all[i], err = m.Register(start, r); err != nil { // the cell is too small for the guarantee
				r.Guaranteed = resources.Vector{}
				all[i], err = m.Register(start, r)
				require.NoError(t, err)
			}
		}
		machine := func() omega.MachineID { return rapid.SampledFrom(ids).Draw(t, "on") }
		for s := range rapid.IntRange(1, 30).Draw(t, "seconds") {
			now := at(float64(s))
			f := rapid.SampledFrom(all).Draw(t, "framework")
			tx := omega.Txn{Now: now}
			one := omega.Claim{Machine: machine(), Need: amount("need"), Precedence: omega.Precedence(rapid.IntRange(-1, 1).Draw(t, "precedence"))}
			switch rapid.IntRange(0, 6).Draw(t, "event") {
			case 0:
				tx.Claim(one)
			case 1:
				tx.Reserve(now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "lasts"))*time.Second), one)
			case 2, 3:
				_, _ = f.Request(now, offers.Request{ // which may exceed a guarantee or any machine
					Machines: rapid.IntRange(1, len(ids)).Draw(t, "of"), Each: amount("each"), Revoke: rapid.Bool().Draw(t, "revoke"),
				})
			case 4:
				require.NoError(t, f.Revive(now))
			case 5:
				for a := range other.Allocations() {
					require.NoError(t, other.Release(a.ID))
					break
				}
			case 6:
				for a := range f.Tasks() {
					require.NoError(t, f.Release(now, a.ID))
					break
				}
			}
			if _, err := other.Commit(&tx); err != nil {
				require.ErrorIs(t, err, omega.ErrTxn)
			}
			settle(t, m, now)
			for _, f := range all {
				news, err := f.News(now)
				require.NoError(t, err)
				for _, a := range news.Answers {
					news.Offers = append(news.Offers, a.Offers...)
				}
				for _, o := range news.Offers {
					if rapid.Bool().Draw(t, "accepts") {
						_, _ = f.Accept(now, launch(o.ID, o.Room[0])) // or the offer was rescinded
					}
				}
			}
			settle(t, m, now)
		}
		require.NoError(t, cell.Check())
	})
}
