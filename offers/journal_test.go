package offers_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// newStalling returns a cell with a journal that stalls when it is told to.
func newStalling(t *testing.T, machines int) (*omega.Cell, *journals.Stalling) {
	t.Helper()
	cell, _ := newCell(t, machines, resources.Vector{10})
	var names []omega.Machine
	for m := range cell.Machines() {
		names = append(names, omega.Machine{Name: m.Name, Capacity: m.Capacity})
	}
	cell, err := omega.NewCell(omega.Config{Machines: names})
	require.NoError(t, err)
	j := new(journals.Stalling)
	require.NoError(t, cell.SetJournal(j))
	return cell, j
}

// responds requires that a call returns while the journal is stalled.
func responds(t *testing.T, name string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	synctest.Wait()
	select {
	case <-done:
	default:
		require.Fail(t, "the call waits for the journal", name)
	}
}

// While the journal of the cell is stalled, calls that change the cell wait: a Step, an Accept, a
// Register, and a Release of tasks. No other call does, whichever of those wait. What a Decline
// gives back is offered to another framework once the journal goes on.
func TestMaster_AnswersWhileTheJournalIsStalled(t *testing.T) {
	for name, waits := range map[string]func(t *testing.T, m *offers.Master, f *offers.Framework, o []offers.Offer, task omega.AllocationID) error{
		"step": func(_ *testing.T, m *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			return m.Step(at(2))
		},
		"accept": func(_ *testing.T, _ *offers.Master, f *offers.Framework, o []offers.Offer, _ omega.AllocationID) error {
			_, err := f.Accept(at(2), launch(o[0].ID, 3))
			return err
		},
		"register": func(_ *testing.T, m *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			_, err := m.Register(at(2), offers.Registration{Name: "late"})
			return err
		},
		"register again": func(_ *testing.T, m *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			_, err := m.Register(at(2), offers.Registration{Name: "b", Epoch: 7})
			return err
		},
		"departure": func(_ *testing.T, m *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			if err := m.Evict(at(2), "b"); err != nil {
				return err
			}
			return m.Step(at(2))
		},
		"release": func(_ *testing.T, _ *offers.Master, f *offers.Framework, _ []offers.Offer, task omega.AllocationID) error {
			return f.Release(at(2), task)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, j := newStalling(t, 6)
				m := newMaster(t, cell, offers.Config{})
				a := register(t, m, offers.Registration{Name: "a"})
				require.NoError(t, m.Step(at(0)))
				open := read(t, a, at(0)).Offers
				require.Len(t, open, 6)
				b := register(t, m, offers.Registration{Name: "b"})
				tasks, err := a.Accept(at(1), launch(open[5].ID, 2))
				require.NoError(t, err)
				require.Len(t, tasks, 1)
				require.NoError(t, a.Decline(at(1), offers.Span{}, open[4].ID)) // for a Step to offer
				j.Stall(true)
				waited := make(chan error, 1)
				go func() { waited <- waits(t, m, a, open, tasks[0]) }()
				synctest.Wait()
				responds(t, "Decline", func() { require.NoError(t, a.Decline(at(3), offers.Span{}, open[1].ID, open[2].ID)) })
				responds(t, "Next", func() { m.Next() })
				responds(t, "Sooner", func() { m.Sooner() })
				responds(t, "News", func() { _, _ = b.News(at(3)) })
				responds(t, "Held", func() { a.Held() })
				responds(t, "Suppress", func() { require.NoError(t, a.Suppress(at(3))) })
				responds(t, "Admits", func() { _ = m.Admits() })
				responds(t, "Request", func() {
					_, err := a.Request(at(3), offers.Request{Each: resources.Vector{1}, Machines: 1})
					require.NoError(t, err)
				})
				responds(t, "SetRoleWeight", func() { _ = m.SetRoleWeight("", 2) })
				require.Empty(t, waited)
				j.Stall(false)
				synctest.Wait()
				for i := range 10 {
					require.NoError(t, m.Step(at(4+float64(i))))
				}
				require.NoError(t, cell.Check())
				if name != "register again" && name != "departure" {
					require.NotEmpty(t, read(t, b, at(20)).Offers, "room that was declined")
				}
				require.NoError(t, <-waited)
				for _, framework := range []string{"a", "b", "late"} {
					if err := m.Evict(at(21), framework); err != nil {
						require.ErrorIs(t, err, offers.ErrUnregistered)
					}
				}
				require.NoError(t, m.Step(at(21)))
				for one := range cell.Allocations() {
					require.Fail(t, "room that no framework has", one)
				}
			})
		})
	}
}

// A time box is handed on by one call, which waits for the journal. Others return the holder.
func TestTimeBox_AnswersWhileTheJournalIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newStalling(t, 1)
		var schedulers []*omega.Scheduler
		for _, name := range []string{"a", "b"} {
			s, err := cell.Take(t.Context(), name, omega.Limits{})
			require.NoError(t, err)
			schedulers = append(schedulers, s)
		}
		box, err := offers.NewTimeBox(start, time.Second, nil, schedulers...)
		require.NoError(t, err)
		j.Stall(true)
		passed := make(chan *omega.Scheduler, 1)
		go func() {
			holder, _ := box.Step(at(2))
			passed <- holder
		}()
		synctest.Wait()
		responds(t, "Step", func() {
			holder, until := box.Step(at(2))
			require.Equal(t, schedulers[0], holder)
			require.Equal(t, at(1), until)
		})
		responds(t, "Yield", func() { require.False(t, box.Yield(at(2), schedulers[0])) })
		j.Stall(false)
		require.Equal(t, schedulers[1], <-passed)
		holder, until := box.Step(at(2))
		require.Equal(t, schedulers[1], holder)
		require.Equal(t, at(3), until)
		require.NoError(t, box.Open())
	})
}

// An Open that fails half-way lets several schedulers claim. After the box is handed on,
// its holder alone can again.
func TestTimeBox_OpenFailsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newStalling(t, 1)
		var schedulers []*omega.Scheduler
		for _, name := range []string{"a", "b", "c", "d"} {
			s, err := cell.Take(t.Context(), name, omega.Limits{})
			require.NoError(t, err)
			schedulers = append(schedulers, s)
		}
		box, err := offers.NewTimeBox(start, time.Second, nil, schedulers...)
		require.NoError(t, err)
		j.Stall(true)
		opened := make(chan error, 1)
		go func() { opened <- box.Open() }()
		for range 3 {
			synctest.Wait()
			require.True(t, j.One())
		}
		synctest.Wait()
		failed := errors.New("journal is full")
		require.True(t, j.Fail(failed))
		require.ErrorIs(t, <-opened, failed)
		j.Stall(false)
		holder, _ := box.Step(at(2))
		require.Equal(t, schedulers[1], holder)
		machine, _ := cell.Machine("node-0")
		for i, s := range schedulers {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: machine, Need: resources.Vector{1}})
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, i == 1, granted == 1, "scheduler %d", i)
		}
	})
}

// A NewTimeBox that fails half-way leaves no scheduler restricted.
func TestNewTimeBox_FailsHalfway(t *testing.T) {
	for passes := range 3 {
		cell, j := newStalling(t, 1)
		var schedulers []*omega.Scheduler
		for _, name := range []string{"a", "b", "c"} {
			s, err := cell.Take(t.Context(), name, omega.Limits{})
			require.NoError(t, err)
			schedulers = append(schedulers, s)
		}
		failed := errors.New("disk is full")
		machine, _ := cell.Machine("node-0")
		j.RefuseOne(failed, passes)
		_, err := offers.NewTimeBox(start, time.Second, nil, schedulers...)
		require.ErrorIs(t, err, failed)
		for i, s := range schedulers {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: machine, Need: resources.Vector{1}})
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted, "scheduler %d, %d restricted", i, passes)
		}
	}
}

// A journal that has failed for good ends a time box: it is not asked again at each Step.
func TestTimeBox_EndsWithTheJournal(t *testing.T) {
	cell, j := newStalling(t, 1)
	var schedulers []*omega.Scheduler
	for _, name := range []string{"a", "b"} {
		s, err := cell.Take(t.Context(), name, omega.Limits{})
		require.NoError(t, err)
		schedulers = append(schedulers, s)
	}
	for passes := range 2 {
		for _, opens := range []bool{false, true} {
			j.Refuse(nil, 0)
			box, err := offers.NewTimeBox(start, time.Second, nil, schedulers...)
			require.NoError(t, err)
			j.Refuse(fmt.Errorf("%w: disk is full", omega.ErrJournal), passes)
			if opens {
				require.ErrorIs(t, box.Open(), omega.ErrJournal)
			}
			holder, until := box.Step(at(2))
			require.Nil(t, holder)
			require.Zero(t, until)
			require.NoError(t, box.Open())
		}
	}
}

// A Release of several tasks waits for the journal once: it has all of them at the same time.
func TestRelease_WaitsForTheJournalOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newStalling(t, 1)
		m := newMaster(t, cell, offers.Config{})
		f := register(t, m, offers.Registration{Name: "f"})
		require.NoError(t, m.Step(at(0)))
		several := launch(read(t, f, at(0)).Offers[0].ID, 1)
		several.Tasks = append(several.Tasks, several.Tasks[0], several.Tasks[0])
		tasks, err := f.Accept(at(0), several)
		require.NoError(t, err)
		require.Len(t, tasks, 3)
		j.Stall(true)
		released := make(chan error, 1)
		go func() { released <- f.Release(at(1), append(tasks, tasks[0])...) }()
		synctest.Wait()
		require.Equal(t, 4, j.Len())
		j.Stall(false)
		require.ErrorIs(t, <-released, omega.ErrReleased, "the one that is named twice")
		for one := range cell.Allocations() {
			require.NotContains(t, tasks, one.ID)
		}
		require.NoError(t, cell.Check())
	})
}

// The tasks of a framework that has ended are released, even if the journal refuses the
// scheduler that releases them, or cannot tell of it, for a while.
func TestStep_ReleasesADepartureAfterTheJournalHasFailed(t *testing.T) {
	full := errors.New("disk is full")
	for name, err := range map[string]error{"refused": full, "in doubt": errors.Join(omega.ErrOutcome, full)} {
		t.Run(name, func(t *testing.T) {
			cell, j := newStalling(t, 1)
			account := accountOf(cell, "f")
			before := newMaster(t, cell, offers.Config{})
			f := register(t, before, offers.Registration{Name: "f", Account: account})
			require.NoError(t, before.Step(at(0)))
			_, accepted := f.Accept(at(0), launch(read(t, f, at(0)).Offers[0].ID, 5))
			require.NoError(t, accepted)
			m, made := offers.New(cell, offers.Config{Recovery: offers.For(time.Minute)}, at(1))
			require.NoError(t, made)
			require.NoError(t, m.Step(at(1)))
			j.RefuseOne(err, 0)
			for i := range 9 {
				if err := m.Step(at(62 + float64(10*i))); err != nil {
					require.ErrorIs(t, err, full)
				}
			}
			for one := range cell.Allocations() {
				require.Equal(t, offers.DefaultName, one.Scheduler, "a task that no framework has")
			}
		})
	}
}
