package omega_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// replicas are copies of one cell, to all of which the same operations are applied
// in the same order.
type replicas struct {
	tb         testing.TB
	rng        *rand.Rand
	cells      []*omega.Cell
	schedulers [][]*omega.Scheduler // by copy
	ids        []omega.AllocationID // granted so far, some of them released
	now        time.Time
	names      int
}

const replicaSchedulers = 3

func newReplicas(tb testing.TB, seed uint64) *replicas {
	tb.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(tb, err)
	r := &replicas{
		tb: tb, rng: rand.New(rand.NewPCG(5, seed)), cells: []*omega.Cell{cell},
		schedulers: make([][]*omega.Scheduler, 1), now: time.Unix(1e9, 0).UTC(),
	}
	for i := range replicaSchedulers {
		s, err := cell.Register(fmt.Sprint(i), omega.Limits{Lowest: -3, Highest: 4})
		require.NoError(tb, err)
		r.schedulers[0] = append(r.schedulers[0], s)
	}
	return r
}

// branch adds a copy that is restored from the first as it is.
func (r *replicas) branch() {
	restored, err := omega.Restore(bytes.NewReader(save(r.tb, r.cells[0])), nil)
	require.NoError(r.tb, err)
	r.cells, r.schedulers = append(r.cells, restored), append(r.schedulers, nil)
	for i, cell := range r.cells { // the others have schedulers replaced as well, so that epochs are the same
		r.schedulers[i] = r.schedulers[i][:0]
		for n := range replicaSchedulers {
			s, err := cell.Replace(fmt.Sprint(n))
			require.NoError(r.tb, err)
			r.schedulers[i] = append(r.schedulers[i], s)
		}
	}
	saved := save(r.tb, r.cells[0])
	for _, cell := range r.cells[1:] {
		require.Equal(r.tb, saved, save(r.tb, cell))
	}
}

// each applies an operation to all copies, which have to say the same of it.
func (r *replicas) each(op func(cell *omega.Cell, schedulers []*omega.Scheduler) any) any {
	first := op(r.cells[0], r.schedulers[0])
	for i := range r.cells[1:] {
		require.Equal(r.tb, first, op(r.cells[i+1], r.schedulers[i+1]), "copy %d", i+1)
	}
	return first
}

// step applies a random operation.
func (r *replicas) step() {
	type (
		cells      = *omega.Cell
		schedulers = []*omega.Scheduler
	)
	machines := slices.Collect(r.cells[0].Machines())
	which := r.rng.IntN(40)
	if len(machines) == 0 || which == 0 && len(machines) < 5 {
		r.names++
		m := omega.Machine{Name: fmt.Sprint("node-", r.names), Capacity: resources.Vector{400, 0, 400}}
		r.each(func(c cells, _ schedulers) any { return both(c.Add(m)) })
		return
	}
	r.now = r.now.Add(time.Duration(r.rng.IntN(3)) * time.Second)
	m, by := machines[r.rng.IntN(len(machines))].ID, r.rng.IntN(replicaSchedulers)
	switch {
	case which == 1 && r.rng.IntN(4) == 0:
		r.each(func(c cells, _ schedulers) any { return both(c.Remove(m)) })
	case which == 2:
		r.each(func(c cells, _ schedulers) any { return c.Drain(m) })
	case which <= 4:
		r.each(func(c cells, _ schedulers) any { return c.Resume(m) })
	case which <= 20 && len(r.ids) > 0:
		for range 1 + r.rng.IntN(12) {
			a := r.ids[r.rng.IntN(len(r.ids))]
			r.each(func(_ cells, s schedulers) any { return fmt.Sprint(s[by].Release(a)) }) // or it is not the owner
		}
	default:
		r.commit(m, by, which)
	}
}

func (r *replicas) commit(m omega.MachineID, by, which int) {
	gang := r.rng.IntN(3) == 0
	var claims []omega.Claim
	var releases []omega.AllocationID
	var resize omega.AllocationID
	for range 1 + r.rng.IntN(20) {
		c := claim(m, 1+r.rng.Int64N(4), 0, r.rng.Int64N(3))
		c.Precedence = omega.Precedence(r.rng.IntN(7) - 3)
		if which == 39 {
			c.Precedence, c.Need[0] = 4, 100
			c.Victims, _ = r.cells[0].Victims(m, c.Need, c.Precedence)
		}
		if claims = append(claims, c); c.Victims != nil {
			break
		}
	}
	if len(r.ids) > 0 {
		for range r.rng.IntN(3) {
			releases = append(releases, r.ids[r.rng.IntN(len(r.ids))])
		}
		resize = r.ids[r.rng.IntN(len(r.ids))]
	}
	got := r.each(func(_ *omega.Cell, s []*omega.Scheduler) any {
		tx := omega.Txn{Gang: gang, Now: r.now, Grace: 2 * time.Second}
		for _, c := range claims {
			tx.Claim(c)
		}
		for _, a := range releases {
			tx.Release(a)
		}
		if which == 38 && resize != (omega.AllocationID{}) {
			tx.Resize(resize, resources.Vector{2, 0, 1})
		}
		_, err := s[by].Commit(&tx)
		out := outcome{err: fmt.Sprint(err)}
		for i := range tx.Len() {
			a, _ := tx.Allocation(i)
			out.ids = append(out.ids, a)
			out.errs = append(out.errs, fmt.Sprint(tx.Err(i)))
		}
		return out
	})
	for _, a := range got.(outcome).ids {
		if a != (omega.AllocationID{}) {
			r.ids = append(r.ids, a)
		}
	}
}

// outcome is the result of a transaction.
type outcome struct {
	err  string
	ids  []omega.AllocationID
	errs []string
}

// both returns a result and the text of an error.
func both[T any](v T, err error) any { return fmt.Sprint(v, err) }

// The same operations have the same outcomes, IDs included, in a cell and in copies
// that were restored from it. Earlier uses of a machine's slots make no difference. So
// a journal of operations is enough to keep copies of a cell alike.
func TestCommit_IsTheSameInRestoredCopies(t *testing.T) {
	for seed := range uint64(100) {
		r := newReplicas(t, seed)
		for range 3 {
			for range 60 {
				r.step()
			}
			r.branch()
		}
		for range 60 {
			r.step()
		}
		saved := save(t, r.cells[0])
		for _, cell := range r.cells[1:] {
			require.Equal(t, saved, save(t, cell))
		}
	}
}

// The slot of a new allocation is the lowest that is free, also where thousands are
// in use.
func TestCommit_GivesTheLowestFreeSlot(t *testing.T) {
	r := newReplicas(t, 0)
	m, err := r.cells[0].Add(omega.Machine{Name: "a", Capacity: resources.Vector{1 << 20}})
	require.NoError(t, err)
	s, held, order := r.schedulers[0][0], map[int]omega.AllocationID{}, []int{}
	var tx omega.Txn
	for range 20_000 {
		if len(held) > r.rng.IntN(4000) {
			i := r.rng.IntN(len(order))
			require.NoError(t, s.Release(held[order[i]]))
			delete(held, order[i])
			order = slices.Delete(order, i, i+1)
			continue
		}
		want := 0
		for held[want] != (omega.AllocationID{}) {
			want++
		}
		tx.Reset()
		commit(t, s, &tx, claim(m, 1))
		a, ok := tx.Allocation(0)
		require.True(t, ok)
		require.Equal(t, want, slotOf(t, a))
		held[want], order = a, append(order, want)
	}
}

// slotOf returns the slot that an ID is printed with.
func slotOf(tb testing.TB, a omega.AllocationID) (slot int) {
	tb.Helper()
	var node, seq int
	_, err := fmt.Sscanf(a.String(), "%d/%d/%d", &node, &slot, &seq)
	require.NoError(tb, err)
	return slot
}
