package offers_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// interrupted is DRF that does something else when it is asked for the n-th time,
// with the master in the middle of a call.
type interrupted struct {
	n  int
	do func()
}

func (o *interrupted) Rank(s offers.Standing) float64 {
	if o.do != nil {
		if o.n--; o.n < 0 {
			do := o.do
			o.do = nil
			do()
		}
	}
	return offers.DRF{}.Rank(s)
}

// tasksOf returns the tasks of all frameworks, by ID.
func tasksOf(cell *omega.Cell) map[omega.AllocationID]omega.Allocation {
	all := make(map[omega.AllocationID]omega.Allocation)
	for a := range cell.Allocations() {
		if strings.HasPrefix(a.Scheduler, "offers/") {
			all[a.ID] = a
		}
	}
	return all
}

// A successor takes over in any place of a call of a master, and frameworks register with
// it, at once or later. From then on the call starts no task and ends none, and takes no
// scheduler from a framework. All claims of the old master that are left are on their way
// out.
func TestMaster_IsReplacedInTheMiddleOfACall(t *testing.T) {
	f, g := offers.Registration{Name: "f", Outstanding: 1}, offers.Registration{Name: "g", Outstanding: 0.1, Failover: offers.For(20 * time.Second)}
	tests := map[string]func(old *offers.Master, h *offers.Framework, got []offers.Offer, task omega.AllocationID) error{
		"accept": func(_ *offers.Master, h *offers.Framework, got []offers.Offer, _ omega.AllocationID) error {
			_, err := h.Accept(at(2), launch(got[1].ID, 3))
			return err
		},
		"decline": func(_ *offers.Master, h *offers.Framework, got []offers.Offer, _ omega.AllocationID) error {
			return h.Decline(at(2), offers.Span{}, got[1].ID)
		},
		"release": func(_ *offers.Master, h *offers.Framework, _ []offers.Offer, task omega.AllocationID) error {
			return h.Release(at(2), task)
		},
		"unregister": func(_ *offers.Master, h *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			return h.Unregister(at(2))
		},
		"a new framework registers": func(old *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			_, err := old.Register(at(2), offers.Registration{Name: "h"})
			return err
		},
		"a framework comes back": func(old *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			_, err := old.Register(at(2), g)
			return err
		},
		"a framework does not come back, offers expire": func(old *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			return old.Step(at(100))
		},
		"other terms": func(old *offers.Master, _ *offers.Framework, _ []offers.Offer, _ omega.AllocationID) error {
			return old.SetTerms(at(2), offers.Terms{Percent: 50})
		},
	}
	for name, call := range tests {
		for i := range 4 {
			optimistic, late := i&1 == 1, i&2 == 2
			t.Run(fmt.Sprintf("%s/optimistic=%t/late=%t", name, optimistic, late), func(t *testing.T) {
				for n := 0; ; n++ {
					cell, _ := newCell(t, 4, resources.Vector{10})
					order := &interrupted{n: n}
					terms := offers.Terms{Optimistic: optimistic}
					old := newMaster(t, cell, offers.Config{Order: order, Roles: order, Terms: terms})
					away := register(t, old, g)
					_, err := away.Accept(start, launch(read(t, away, start).Offers[0].ID, 4))
					require.NoError(t, err)
					require.NoError(t, away.Disconnect(at(1)))
					first := register(t, old, f)
					got := read(t, first, at(1)).Offers
					mine, err := first.Accept(at(1), launch(got[0].ID, 2))
					require.NoError(t, err)

					var m *offers.Master
					var again [2]*offers.Framework
					var then map[omega.AllocationID]omega.Allocation
					come := func() {
						for i, r := range []offers.Registration{f, g} {
							again[i], err = m.Register(at(2), r)
							require.NoError(t, err)
						}
					}
					order.do = func() {
						m, err = offers.New(cell, offers.Config{Terms: terms}, at(2))
						require.NoError(t, err)
						if !late {
							come()
						}
						then = tasksOf(cell)
					}
					// It may have been done before, or is refused.
					if err := call(old, first, got, mine[0]); err != nil {
						require.ErrorIs(t, err, offers.ErrFenced)
					}
					if order.do != nil {
						require.True(t, n > 0 || optimistic, "nobody has taken over") // to decline asks no order there
						return
					}
					require.Equal(t, then, tasksOf(cell))
					if late {
						come()
					}
					require.ErrorIs(t, old.Step(at(3)), offers.ErrFenced)
					for _, h := range again {
						for _, o := range read(t, h, at(3)).Offers {
							if st, _ := cell.State(o.Machine); optimistic && st.Free[0] == 0 {
								continue
							}
							_, err := h.Accept(at(3), launch(o.ID, 1))
							require.NoError(t, err)
						}
						for a := range h.Tasks() {
							require.NoError(t, h.Release(at(3), a.ID))
						}
						require.NoError(t, h.Unregister(at(3)))
					}
					require.NoError(t, m.Step(at(4)))
					for st := range cell.Machines() {
						require.Equal(t, st.Capacity, st.Free)
					}
					require.NoError(t, cell.Check())
				}
			})
		}
	}
}

// runner is a framework on a goroutine: it starts and ends tasks with whichever
// master there is, and keeps its own books.
type runner struct {
	master *atomic.Pointer[offers.Master]
	name   string
	f      *offers.Framework
	epoch  uint64
	rng    *rand.Rand
	tasks  []omega.AllocationID
	starts *atomic.Int64

	optimistic bool // others end its offers, and the master forgets those that ended long ago
}

// turn does something, or finds that it has to register with another master.
func (r *runner) turn() error {
	err := r.try()
	for errors.Is(err, offers.ErrFenced) {
		runtime.Gosched() // another one may not be there yet
		r.epoch++
		r.f, err = r.master.Load().Register(start, offers.Registration{Name: r.name, Outstanding: 1, Epoch: r.epoch})
	}
	return err
}

func (r *runner) try() error {
	if r.f == nil {
		return offers.ErrFenced
	}
	if len(r.tasks) > 0 && r.rng.IntN(2) == 0 {
		i := r.rng.IntN(len(r.tasks))
		err := r.f.Release(start, r.tasks[i])
		if err == nil {
			r.tasks[i] = r.tasks[len(r.tasks)-1]
			r.tasks = r.tasks[:len(r.tasks)-1]
		}
		return err
	}
	news, err := r.f.News(start)
	for _, o := range news.Offers {
		if err != nil {
			break
		}
		var tasks []omega.AllocationID
		tasks, err = r.f.Accept(start, launch(o.ID, 1+r.rng.Int64N(o.Room[0])))
		if errors.Is(err, omega.ErrConflict) || errors.Is(err, offers.ErrRescinded) || r.optimistic && errors.Is(err, offers.ErrUnknown) {
			err = nil
		}
		r.tasks = append(r.tasks, tasks...)
		r.starts.Add(int64(len(tasks)))
	}
	return err
}

// Masters of one name take over from each other while frameworks accept offers and end
// tasks with whichever master they are with. At the end each has exactly the tasks that
// it was told it has: an accept that failed has left nothing, and none was ended but by
// its framework.
func TestMaster_TakeoversWhileFrameworksAccept(t *testing.T) {
	for _, optimistic := range []bool{false, true} {
		t.Run(fmt.Sprintf("optimistic=%t", optimistic), func(t *testing.T) {
			const runners = 3
			rounds := 100
			if testing.Short() {
				rounds /= 5
			}
			cell, _ := newCell(t, 6, resources.Vector{10})
			cfg := offers.Config{Terms: offers.Terms{Optimistic: optimistic}}
			var master atomic.Pointer[offers.Master]
			master.Store(newMaster(t, cell, cfg))
			all := make([]*runner, runners)
			errs := make([]error, runners+1)
			var over atomic.Bool
			var turns, started, failed atomic.Int64
			var working sync.WaitGroup
			for i := range all {
				r := &runner{master: &master, name: fmt.Sprint("f", i), rng: rand.New(rand.NewPCG(8, uint64(i))), starts: &started, optimistic: optimistic}
				all[i] = r
				working.Go(func() {
					for errs[i] == nil && !over.Load() {
						errs[i] = r.turn()
						turns.Add(1)
						runtime.Gosched()
					}
					failed.Add(1)
				})
			}
			rng := rand.New(rand.NewPCG(8, 8))
			for n := 0; n < rounds || started.Load() == 0 && failed.Load() == 0; n++ {
				m, err := offers.New(cell, cfg, start)
				require.NoError(t, err)
				then := tasksOf(cell)
				for range 5 {
					runtime.Gosched()
				}
				for id, a := range tasksOf(cell) {
					require.Contains(t, then, id, "nobody is with the new master yet: %v", a)
				}
				master.Store(m)
				// A reign of a few turns, which ends in the middle of some.
				for end := turns.Load() + rng.Int64N(int64(4+n/8)); turns.Load() < end && failed.Load() == 0; {
					runtime.Gosched()
					if err := m.Step(start); err != nil {
						errs[runners] = err
					}
				}
			}
			over.Store(true)
			working.Wait()
			require.NoError(t, errors.Join(errs...))

			for _, r := range all {
				r.f = nil // it may be with an earlier one
				require.NoError(t, r.turn())
				running := tasksOf(cell)
				for id, a := range running {
					if a.Scheduler != "offers/"+r.name {
						delete(running, id)
					}
				}
				require.Len(t, running, len(r.tasks))
				for _, id := range r.tasks {
					require.Contains(t, running, id)
				}
				require.NoError(t, r.f.Unregister(start))
			}
			require.NoError(t, master.Load().Step(start))
			for st := range cell.Machines() {
				require.Equal(t, st.Capacity, st.Free)
			}
			require.NoError(t, cell.Check())
		})
	}
}
