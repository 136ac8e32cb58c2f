package omega_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// reservationModel is a cell with reservations and an obviously right model of it.
type reservationModel struct {
	cell       *omega.Cell
	share      int64 // of 4
	schedulers []*omega.Scheduler
	machines   []omega.MachineID
	now        time.Time

	capacity []resources.Vector
	draining []bool
	live     map[omega.AllocationID]modelAllocation
	line     []*modelReservation
	ended    []omega.ReservationID
}

type modelAllocation struct {
	owner, machine int
	precedence     omega.Precedence
	need           resources.Vector
}

type modelReservation struct {
	id         omega.ReservationID
	owner      int
	precedence omega.Precedence
	until      time.Time
	left       map[int]resources.Vector // by machine
	need       resources.Vector         // of all, when it began
	active     bool
}

const highest = 2

// What is granted, shown, kept and ready is what the definition says, for any commits of
// schedulers with and without reservations, machines that drain, and times that pass.
func TestReservations_BehaveLikeTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &reservationModel{now: clock, live: map[omega.AllocationID]modelAllocation{}, share: rapid.Int64Range(1, 4).Draw(t, "share")}
		var err error
		k.cell, err = omega.NewCell(omega.Config{Reserved: float64(k.share) / 4})
		require.NoError(t, err)
		for i := range 3 {
			k.capacity = append(k.capacity, resources.Vector{4, 4}.Add(vector(t, 6, "capacity")))
			m, err := k.cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: k.capacity[i]})
			require.NoError(t, err)
			k.machines, k.draining = append(k.machines, m), append(k.draining, false)
			s, err := k.cell.Register(fmt.Sprint(i), omega.Limits{Lowest: omega.Precedence(i) - 1, Highest: highest})
			require.NoError(t, err)
			k.schedulers = append(k.schedulers, s)
		}
		t.Repeat(map[string]func(*rapid.T){
			"commit":       k.commit,
			"commit again": k.commit,
			"release":      k.release,
			"reserve":      k.reserve,
			"unreserve":    k.unreserve,
			"exchange":     k.exchange,
			"turn":         k.turn,
			"machine":      k.drain,
			"tick":         k.tick,
			"":             k.check,
		})
	})
}

func (k *reservationModel) free(machine int) resources.Vector {
	free := k.capacity[machine]
	for _, a := range k.live {
		if a.machine == machine {
			free, _ = free.Sub(a.need)
		}
	}
	return free
}

// room returns the part of free that is not kept from a claim at p, of a scheduler, that
// names a reservation.
func (k *reservationModel) room(machine, owner int, free resources.Vector, p omega.Precedence, names omega.ReservationID) resources.Vector {
	for _, r := range k.line {
		left, on := r.left[machine]
		switch {
		case !r.active || !on || r.precedence < p:
			continue
		case r.id == names && r.owner == owner:
			return free
		}
		for i := range free {
			free[i] = max(0, free[i]-left[i])
		}
	}
	return free
}

// granted takes off what was granted to a claim that names a reservation.
func (k *reservationModel) granted(machine, owner int, names omega.ReservationID, need resources.Vector) {
	for _, r := range k.line {
		if left, on := r.left[machine]; r.id == names && r.owner == owner && on {
			for i := range left {
				left[i] = max(0, left[i]-need[i])
			}
			if r.left[machine] = left; left == (resources.Vector{}) {
				delete(r.left, machine)
			}
		}
	}
}

// arrange ends and begins what is to.
func (k *reservationModel) arrange() {
	k.line = slices.DeleteFunc(k.line, func(r *modelReservation) bool {
		over := len(r.left) == 0 || !k.now.Before(r.until)
		for machine := range r.left {
			over = over || k.draining[machine]
		}
		if over {
			k.ended = append(k.ended, r.id)
		}
		return over
	})
	slices.SortFunc(k.line, func(a, b *modelReservation) int {
		return cmp.Or(cmp.Compare(b.precedence, a.precedence), cmp.Compare(a.id, b.id))
	})
	var sum, most resources.Vector
	for _, r := range k.line {
		if r.active {
			sum = sum.Add(r.need)
		}
	}
	for i := range k.machines {
		most = most.Add(k.capacity[i].Scale(k.share))
	}
	for i, r := range k.line {
		if r.active {
			continue
		}
		if sum = sum.Add(r.need); i > 0 && !sum.Scale(4).Fits(most) {
			return
		}
		r.active = true
	}
}

func (k *reservationModel) precedence(t *rapid.T, owner int) omega.Precedence {
	return omega.Precedence(rapid.IntRange(owner-1, highest).Draw(t, "precedence"))
}

func (k *reservationModel) reserve(t *rapid.T) {
	owner := rapid.IntRange(0, 2).Draw(t, "owner")
	r := &modelReservation{
		owner: owner, precedence: k.precedence(t, owner), left: map[int]resources.Vector{},
		until: k.now.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "until"))),
	}
	var claims []omega.Claim
	possible := true
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		machine, need := rapid.IntRange(0, 2).Draw(t, "machine"), some(vector(t, 6, "need"))
		claims = append(claims, omega.Claim{Machine: k.machines[machine], Need: need, Precedence: r.precedence})
		r.left[machine], r.need = r.left[machine].Add(need), r.need.Add(need)
		possible = possible && !k.draining[machine]
	}
	for machine, need := range r.left {
		possible = possible && need.Fits(k.capacity[machine])
	}
	tx := omega.Txn{Now: k.now}
	i := tx.Reserve(r.until, claims...)
	_, err := k.schedulers[owner].Commit(&tx)
	require.NoError(t, err)
	r.id, err = tx.Reservation(i)
	require.Equal(t, possible, err == nil, "%v", err)
	if possible {
		k.line = append(k.line, r)
		k.arrange()
	}
}

func (k *reservationModel) unreserve(t *rapid.T) {
	if len(k.line) == 0 {
		t.Skip("there is none")
	}
	owner, r := rapid.IntRange(0, 2).Draw(t, "by"), rapid.SampledFrom(k.line).Draw(t, "reservation")
	err := unreserve(t, k.schedulers[owner], k.now, r.id)
	if r.owner != owner {
		require.ErrorIs(t, err, omega.ErrNotOwner)
		return
	}
	require.NoError(t, err)
	clear(r.left)
	k.arrange()
	require.ErrorIs(t, unreserve(t, k.schedulers[owner], k.now, r.id), omega.ErrReleased)
}

// names draws a reservation, seldom one that has ended.
func (k *reservationModel) names(t *rapid.T) omega.ReservationID {
	var ids []omega.ReservationID
	for _, r := range k.line {
		ids = append(ids, r.id)
	}
	if seldom(t) {
		ids = append(ids, k.ended...)
	}
	return rapid.SampledFrom(append(ids, 0, 0)).Draw(t, "names")
}

// commit sends a gang of claims, some with victims, some for reservations.
func (k *reservationModel) commit(t *rapid.T) {
	owner := rapid.IntRange(0, 2).Draw(t, "owner")
	var claims []omega.Claim
	var on []int
	for range rapid.IntRange(1, 3).Draw(t, "claims") {
		machine := rapid.IntRange(0, 2).Draw(t, "machine")
		on = append(on, machine)
		claims = append(claims, omega.Claim{
			Machine: k.machines[machine], Need: some(vector(t, 5, "need")), Precedence: k.precedence(t, owner), Reservation: k.names(t),
		})
	}
	if len(claims) == 1 && rapid.Bool().Draw(t, "preempts") {
		for id, a := range k.live {
			if c := &claims[0]; a.machine == on[0] && a.precedence < c.Precedence && len(c.Victims) < 2 {
				c.Victims = append(c.Victims, id)
			}
		}
	}
	k.send(t, owner, on, claims)
}

// turn sends what is left of a reservation.
func (k *reservationModel) turn(t *rapid.T) {
	if len(k.line) == 0 {
		t.Skip("there is none")
	}
	r := rapid.SampledFrom(k.line).Draw(t, "reservation")
	var claims []omega.Claim
	var on []int
	for machine := range k.machines {
		if left, ok := r.left[machine]; ok {
			on = append(on, machine)
			claims = append(claims, omega.Claim{Machine: k.machines[machine], Need: left, Precedence: r.precedence, Reservation: r.id})
		}
	}
	k.send(t, r.owner, on, claims)
}

func (k *reservationModel) send(t *rapid.T, owner int, on []int, claims []omega.Claim) {
	live, fits := maps.Clone(k.live), true
	left := make([]map[int]resources.Vector, len(k.line))
	for i, r := range k.line {
		left[i] = maps.Clone(r.left)
	}
	for i := range k.machines {
		for n, c := range claims {
			if on[n] != i || !fits {
				continue
			}
			for _, v := range c.Victims {
				delete(k.live, v)
			}
			fits = !k.draining[i] && c.Need.Fits(k.room(i, owner, k.free(i), c.Precedence, c.Reservation))
			if fits {
				k.granted(i, owner, c.Reservation, c.Need)
				k.capacity[i], _ = k.capacity[i].Sub(c.Need) // until it has its ID
			}
		}
	}
	ids, err := sendAt(t, k.schedulers[owner], k.now, claims...)
	require.Equal(t, fits, err == nil, "%v", err)
	if !fits {
		k.live = live
		for i, r := range k.line {
			r.left = left[i]
		}
	}
	k.restore()
	for n, id := range ids {
		k.live[id] = modelAllocation{owner, on[n], claims[n].Precedence, claims[n].Need}
		for _, v := range claims[n].Victims {
			require.NoError(t, k.schedulers[live[v].owner].Release(v))
		}
	}
	k.arrange()
}

// restore sets the capacities to what they are in the cell.
func (k *reservationModel) restore() {
	for i, m := range k.machines {
		state, _ := k.cell.State(m)
		k.capacity[i] = state.Capacity
	}
}

// exchange resizes an allocation: what it has stays its own.
func (k *reservationModel) exchange(t *rapid.T) {
	id, a := k.allocation(t)
	need := some(vector(t, 6, "need"))
	var tx omega.Txn
	tx.Resize(id, need)
	_, err := k.schedulers[a.owner].Commit(&tx)
	require.NoError(t, err)
	room := k.room(a.machine, a.owner, k.free(a.machine), a.precedence, 0).Add(a.need)
	next, ok := tx.Allocation(0)
	require.Equal(t, need.Fits(room), ok, "%v in %v", need, room)
	if ok {
		delete(k.live, id)
		a.need = need
		k.live[next] = a
	}
}

func (k *reservationModel) allocation(t *rapid.T) (omega.AllocationID, modelAllocation) {
	if len(k.live) == 0 {
		t.Skip("there is none")
	}
	ids := slices.SortedFunc(maps.Keys(k.live), func(a, b omega.AllocationID) int {
		return cmp.Or(cmp.Compare(a.Node(), b.Node()), cmp.Compare(a.Seq(), b.Seq()), cmp.Compare(a.String(), b.String()))
	})
	id := rapid.SampledFrom(ids).Draw(t, "allocation")
	return id, k.live[id]
}

func (k *reservationModel) release(t *rapid.T) {
	id, a := k.allocation(t)
	require.NoError(t, k.schedulers[a.owner].Release(id))
	delete(k.live, id)
}

func (k *reservationModel) drain(t *rapid.T) {
	i := rapid.IntRange(0, 2).Draw(t, "machine")
	if k.draining[i] = !k.draining[i] && seldom(t); k.draining[i] {
		require.NoError(t, k.cell.Drain(k.machines[i]))
	} else {
		require.NoError(t, k.cell.Resume(k.machines[i]))
	}
	// A change of a machine ends what has no room any more, whatever the time is.
	now := k.now
	k.now = time.Time{}
	k.arrange()
	k.now = now
}

// tick has time pass, and a scheduler end what is over then.
func (k *reservationModel) tick(t *rapid.T) {
	k.now = k.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "time")))
	tx := omega.Txn{Now: k.now}
	tx.Unreserve(0)
	_, err := k.schedulers[0].Commit(&tx)
	require.NoError(t, err)
	k.arrange()
}

// check compares what each scheduler is shown.
func (k *reservationModel) check(t *rapid.T) {
	require.NoError(t, k.cell.Check())
	for owner, s := range k.schedulers {
		snap := s.Snapshot()
		snap.Refresh(k.now)
		for i, m := range k.machines {
			free, ok := snap.Free(m)
			require.Equal(t, !k.draining[i], ok)
			if ok {
				require.Equal(t, k.room(i, -1, k.free(i), omega.Precedence(owner-1), 0), free, "machine %d for scheduler %d", i, owner)
			}
		}
		n := 0
		for got := range snap.Reservations() {
			r := k.line[n]
			n++
			require.Equal(t, r.id, got.ID)
			require.Len(t, got.Claims, len(r.left))
			ready := r.active
			for _, c := range got.Claims {
				i := int(c.Machine.Node())
				require.Equal(t, r.left[i], c.Need)
				ready = ready && !k.draining[i] && c.Need.Fits(k.room(i, r.owner, k.free(i), r.precedence, r.id))
			}
			require.Equal(t, ready, got.Ready)
		}
		require.Equal(t, len(k.line), n)
	}
}
