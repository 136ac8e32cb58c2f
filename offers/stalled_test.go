package offers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// answers calls each method of a master and of a framework but those that commit.
func answers(t *testing.T, m *offers.Master, f *offers.Framework, machine omega.MachineID) {
	t.Helper()
	_, _ = m.Next()
	m.Sooner()
	require.NoError(t, m.Admits(offers.Registration{Name: "new"}))
	late, err := m.Register(at(1), offers.Registration{Name: "late"})
	require.NoError(t, err)
	require.NoError(t, late.Disconnect(at(1)))
	require.NoError(t, m.SetRoleWeight("r", 2))
	require.NoError(t, m.SetTerms(at(1), offers.Terms{}))
	_, err = m.Vacate(at(1), machine, at(100))
	require.NoError(t, err)
	_, err = m.Vacate(at(1), machine, time.Time{})
	require.NoError(t, err)
	m.Replies(machine)
	require.NoError(t, f.Suppress(at(1)))
	require.NoError(t, f.Revive(at(1)))
	id, err := f.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{1}})
	require.NoError(t, err)
	require.NoError(t, f.Withdraw(at(1), id))
	f.Held()
	for range f.Tasks() {
		continue
	}
	_, err = f.News(at(1))
	require.NoError(t, err)
}

// While an accept waits for its store, all other methods answer, of its framework too, and
// so do the accepts of others. Its offers can be neither accepted nor declined.
func TestAccept_OthersGoOnWhileTheStoreStalls(t *testing.T) {
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, machines := newCell(t, 3, resources.Vector{10})
				m, all := newSlow(t, cell, offers.Config{})
				f := register(t, m, offers.Registration{Name: "f", Outstanding: 0.6})
				g := register(t, m, offers.Registration{Name: "g", Outstanding: 0.3})
				require.NoError(t, m.Step(start))
				mine, theirs := read(t, f, start).Offers, read(t, g, start).Offers
				require.Len(t, mine, 2)
				require.Len(t, theirs, 1)
				gate, done := make(chan struct{}), make(chan struct{})
				all["offers/f"] = &hooks{}
				stall(all["offers/f"], gate)
				var tasks []omega.AllocationID
				var failed error
				go func() {
					defer close(done)
					tasks, failed = f.Accept(start, launch(mine[0].ID, 4))
				}()
				synctest.Wait()

				require.ErrorIs(t, f.Decline(start, offers.For(0), mine[0].ID), offers.ErrPending)
				require.NoError(t, f.Decline(start, offers.For(0), mine[1].ID))
				got, err := g.Accept(start, launch(theirs[0].ID, 10))
				require.NoError(t, err)
				require.Len(t, got, 1)
				require.NoError(t, g.Release(start, got...))
				answers(t, m, f, machines[0])
				require.NoError(t, m.Step(at(2)))
				held, offered := f.Held()
				require.GreaterOrEqual(t, offered[0], int64(10), "what is being accepted is offered to it")
				require.GreaterOrEqual(t, held[0], int64(4))
				require.ErrorIs(t, g.Decline(at(2), offers.For(0), mine[0].ID), offers.ErrForeign)
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(errLine)
				_, err = f.AcceptContext(ctx, at(2), launch(mine[0].ID, 1))
				require.ErrorIs(t, err, errLine, "it waits for the one before it")
				require.NoError(t, m.Evict(at(2), "g"))

				close(gate)
				<-done
				require.NoError(t, failed)
				require.Len(t, tasks, 1)
				require.ErrorIs(t, f.Decline(at(2), offers.For(0), mine[0].ID), offers.ErrUsed)
				require.NoError(t, m.Step(at(3)))
				require.NoError(t, f.Unregister(at(3)))
				require.NoError(t, m.Step(at(4)))
				require.Zero(t, used(cell))
				require.Empty(t, m.Leftovers())
				require.NoError(t, cell.Check())
			})
		})
	}
}

// used returns what is in use in a cell.
func used(cell *omega.Cell) (sum resources.Vector) {
	for st := range cell.Machines() {
		taken, _ := st.Capacity.Sub(st.Free)
		sum = sum.Add(taken)
	}
	return sum
}

// While a step waits for its store, all other methods answer, accepts too; another step does
// nothing, and nothing is due before the first one has ended.
func TestStep_OthersGoOnWhileTheStoreStalls(t *testing.T) {
	all := map[string]func(h *hooks, gate <-chan struct{}){
		"in a refresh": func(h *hooks, gate <-chan struct{}) { h.refresh = until(gate) },
	}
	for name, stall := range stalls {
		all["in a commit, "+name] = stall
	}
	for name, stall := range all {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, machines := newCell(t, 3, resources.Vector{10})
				m, all := newSlow(t, cell, offers.Config{})
				f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
				require.NoError(t, m.Step(start))
				mine := read(t, f, start).Offers
				require.Len(t, mine, 3)
				require.NoError(t, f.Decline(start, offers.For(time.Second), mine[1].ID, mine[2].ID))
				g := register(t, m, offers.Registration{Name: "g", Outstanding: 1})
				gate, done := make(chan struct{}), make(chan struct{})
				all["offers"] = &hooks{}
				stall(all["offers"], gate)
				var failed error
				go func() {
					defer close(done)
					failed = m.Step(at(1))
				}()
				synctest.Wait()

				sooner := m.Sooner()
				require.NoError(t, m.Step(at(1)))
				_, due := m.Next()
				require.False(t, due, "nothing before the first one has ended")
				got, err := f.Accept(at(1), launch(mine[0].ID, 3))
				require.NoError(t, err)
				answers(t, m, f, machines[1])
				require.NoError(t, f.Release(at(1), got...))
				select {
				case <-sooner:
					require.Fail(t, "the step has not ended")
				default:
				}

				close(gate)
				<-done
				require.NoError(t, failed)
				<-sooner
				next, due := m.Next()
				require.True(t, due)
				require.NoError(t, m.Step(next))
				for _, one := range []*offers.Framework{f, g} {
					for _, o := range read(t, one, at(1)).Offers {
						_, err := one.Accept(at(1), launch(o.ID, o.Room[0]))
						require.NoError(t, err)
					}
				}
				require.Equal(t, resources.Vector{30}, used(cell), "all of it was offered")
				require.NoError(t, f.Unregister(at(2)))
				require.NoError(t, g.Unregister(at(2)))
				require.NoError(t, m.Step(at(2)))
				require.Empty(t, m.Leftovers())
				require.NoError(t, cell.Check())
			})
		})
	}
}

// An accept that ends with its context is in doubt. The same call again returns the
// outcome of the transaction; another one asks for that first.
func TestAccept_OutcomeInDoubt(t *testing.T) {
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, _ := newCell(t, 2, resources.Vector{10})
				m, all := newSlow(t, cell, offers.Config{})
				f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
				require.NoError(t, m.Step(start))
				mine := read(t, f, start).Offers
				gate := make(chan struct{})
				all["offers/f"] = &hooks{}
				stall(all["offers/f"], gate)
				first := launch(mine[0].ID, 4)
				for range 2 {
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errLine)
					_, err := f.AcceptContext(ctx, start, first)
					cancel()
					require.ErrorIs(t, err, omega.ErrOutcome)
					require.ErrorIs(t, err, errLine)
					require.ErrorIs(t, f.Decline(start, offers.For(0), mine[0].ID), offers.ErrPending)
				}
				first.Tasks[0].Need[0] = 5 // the caller's, which the master has copied
				first = launch(mine[0].ID, 4)
				require.NoError(t, m.Step(at(100)), "past the deadline of the offers")
				require.ErrorIs(t, f.Decline(at(100), offers.For(0), mine[1].ID), offers.ErrExpired)
				close(gate)
				tasks, err := f.Accept(at(100), first)
				require.NoError(t, err)
				require.Len(t, tasks, 1)
				require.Equal(t, 3, all["offers/f"].commits)
				_, err = f.Accept(at(100), first)
				require.ErrorIs(t, err, offers.ErrUsed)

				require.NoError(t, m.Step(at(101)))
				mine = read(t, f, at(101)).Offers
				require.NotEmpty(t, mine)
				gate = make(chan struct{})
				stall(all["offers/f"], gate)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err = f.AcceptContext(ctx, at(101), launch(mine[0].ID, 1))
				require.ErrorIs(t, err, omega.ErrOutcome)
				close(gate)
				_, err = f.Accept(at(101), launch(mine[0].ID, 2))
				require.ErrorIs(t, err, offers.ErrUsed, "the one in doubt has it")
				require.Len(t, slices.Collect(f.Tasks()), 2)
			})
		})
	}
}

// A step that is in doubt offers nothing before the next one knows the outcome, and then
// each piece of room once.
func TestStep_OutcomeInDoubt(t *testing.T) {
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, _ := newCell(t, 2, resources.Vector{10})
				m, all := newSlow(t, cell, offers.Config{Interval: offers.For(5 * time.Second)})
				f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
				gate := make(chan struct{})
				all["offers"] = &hooks{}
				stall(all["offers"], gate)
				for second, wait := range []float64{5, 10} {
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errLine)
					err := m.StepContext(ctx, at(float64(second)))
					cancel()
					require.ErrorIs(t, err, omega.ErrOutcome)
					require.ErrorIs(t, err, errLine)
					require.Empty(t, read(t, f, start).Offers)
					next, due := m.Next()
					require.True(t, due)
					require.Equal(t, at(float64(second)+wait), next)
					_, err = f.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{5}})
					require.NoError(t, err)
				}
				close(gate)
				require.NoError(t, m.Step(at(6)))
				news := read(t, f, at(6))
				require.Len(t, news.Offers, 2)
				require.NoError(t, f.Decline(at(6), offers.For(0), ids(news.Offers)...))
				require.NoError(t, m.Step(at(7)))
				require.Len(t, read(t, f, at(7)).Answers, 2)
				require.NoError(t, f.Unregister(at(7)))
				require.NoError(t, m.Step(at(8)))
				require.Zero(t, used(cell))
				require.Empty(t, m.Leftovers())
			})
		})
	}
}

// What happens while an accept is on the way, by the cell or the master, is decided with its
// outcome: nothing leaks, whether it was granted or not.
func TestAccept_MeetsChangesWhileUnderway(t *testing.T) {
	type yard struct {
		cell     *omega.Cell
		machines []omega.MachineID
		m        *offers.Master
		f        *offers.Framework
	}
	tests := map[string]struct {
		happens       func(y *yard) error
		before, after error // of the accept, as it happens before the cell has applied it, or after
		offers        int   // of the two that it named, outstanding afterwards if it was refused
		tasks         bool  // those that were granted go on
	}{
		"the machine of one is removed": {func(y *yard) error {
			_, err := y.cell.Remove(y.machines[0])
			return errors.Join(err, y.m.Step(at(1)))
		}, offers.ErrRescinded, nil, 1, true},
		"and its number is another's": {func(y *yard) error {
			_, err := y.cell.Remove(y.machines[0])
			_, failed := y.cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
			return errors.Join(err, failed, y.m.Step(at(1)))
		}, offers.ErrRescinded, nil, 1, true},
		"the framework unregisters": {func(y *yard) error {
			err := y.f.Unregister(at(1))
			if _, early := y.m.Register(at(1), offers.Registration{Name: "f"}); !errors.Is(early, offers.ErrName) {
				err = errors.Join(err, errors.New("the one before it has not gone"), early)
			}
			return errors.Join(err, y.m.Step(at(1)))
		}, offers.ErrUnregistered, offers.ErrUnregistered, 0, false},
		"the framework is evicted": {func(y *yard) error { return y.m.Evict(at(1), "f") }, offers.ErrEvicted, offers.ErrEvicted, 0, false},
		"a standby takes over": {func(y *yard) (err error) {
			y.f, err = y.m.Register(at(1), offers.Registration{Name: "f", Epoch: 1, Outstanding: 1})
			return errors.Join(err, y.m.Step(at(1)))
		}, offers.ErrFenced, nil, 2, true},
		"a standby takes over, of another account": {func(y *yard) (err error) {
			other := offers.Registration{Name: "f", Epoch: 1, Outstanding: 1, Account: accountOf(y.cell, "other")}
			y.f, err = y.m.Register(at(1), other)
			return errors.Join(err, y.m.Step(at(1)))
		}, offers.ErrFenced, nil, 0, true},
		"the offers expire": {func(y *yard) error { return y.m.Step(at(1000)) }, nil, nil, 0, true},
		"a master takes over": {func(y *yard) error {
			_, err := offers.New(y.cell, offers.Config{}, at(1))
			return err
		}, offers.ErrFenced, nil, 0, true},
	}
	for name, test := range tests {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, applied=%t", name, applied), func(t *testing.T) {
				cell, machines := newCell(t, 2, resources.Vector{10})
				y := &yard{cell: cell, machines: machines}
				var all map[string]*hooks
				y.m, all = newSlow(t, cell, offers.Config{})
				y.f = register(t, y.m, offers.Registration{Name: "f", Outstanding: 1})
				require.NoError(t, y.m.Step(start))
				mine := read(t, y.f, start).Offers
				require.Len(t, mine, 2)
				h := &hooks{}
				all["offers/f"] = h
				happens := func(context.Context) error {
					h.before, h.after = nil, nil
					require.NoError(t, test.happens(y))
					return nil
				}
				want := test.before
				if h.before = happens; applied {
					h.before, h.after, want = nil, happens, test.after
				}
				tasks, err := y.f.Accept(start, launch(mine[0].ID, 4), launch(mine[1].ID, 4))
				if want != nil {
					require.ErrorIs(t, err, want)
				} else {
					require.NoError(t, err)
					require.Len(t, tasks, 2)
				}
				if err := y.m.Step(at(2)); errors.Is(err, offers.ErrFenced) {
					return
				}
				if want != nil && !applied && test.offers > 0 {
					still := 0
					for _, o := range mine {
						if _, err := y.f.Accept(at(2), launch(o.ID, 1)); err == nil {
							still++
						}
					}
					require.Equal(t, test.offers, still)
				}
				running := len(slices.Collect(y.f.Tasks()))
				require.Equal(t, test.tasks && (applied || want == nil || test.offers > 0), running > 0)
				_ = y.f.Unregister(at(3))
				require.NoError(t, y.m.Step(at(3)))
				require.Zero(t, used(cell))
				require.Empty(t, y.m.Leftovers())
				require.NoError(t, cell.Check())
			})
		}
	}
}

// A store that panics leaves the accept to be asked for again, and the master unlocked.
func TestAccept_StoreThatPanics(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m, all := newSlow(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	require.NoError(t, m.Step(start))
	mine := read(t, f, start).Offers
	all["offers/f"] = &hooks{before: func(context.Context) error { panic("store") }}
	require.PanicsWithValue(t, "store", func() { _, _ = f.Accept(start, launch(mine[0].ID, 4)) })
	require.ErrorIs(t, f.Decline(start, offers.For(0), mine[0].ID), offers.ErrPending)
	all["offers/f"] = nil
	tasks, err := f.Accept(start, launch(mine[0].ID, 4))
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	require.NoError(t, f.Unregister(start))
	require.NoError(t, m.Step(at(1)))
	require.Zero(t, used(cell))
	require.Empty(t, m.Leftovers())
}
