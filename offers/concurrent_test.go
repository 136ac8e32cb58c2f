package offers_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Several goroutines call all methods of a master and of its frameworks, of their
// own and of those of others. That is for the race detector.
func TestMaster_IsSafeForConcurrentUse(t *testing.T) {
	const goroutines, rounds = 4, 40
	cell, machines := newCell(t, 3, resources.Vector{20})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(time.Second)})
	var seconds atomic.Int64
	now := func() time.Time { return at(float64(seconds.Add(1)) / 8) }
	var working sync.WaitGroup
	var begun atomic.Int64
	for i := range goroutines {
		name := fmt.Sprint("f", i)
		working.Go(func() {
			for round := range rounds {
				f, err := m.Register(now(), offers.Registration{Name: name, Precedence: omega.Precedence(i), Role: name})
				if err != nil {
					panic(err)
				}
				for range 3 {
					begun.Add(int64(work(m, f, now, machines[round%3])))
				}
				_ = m.Admits(offers.Registration{Name: name + " too"})
				_, _ = m.Next()
				m.Sooner()
				_ = m.SetRoleWeight(name, float64(1+round%3))
				_ = m.SetTerms(now(), offers.Terms{})
				_ = m.Step(now())
				switch round % 3 {
				case 0:
					_ = f.Unregister(now())
				case 1:
					_ = f.Disconnect(now())
					_ = m.Evict(now(), name)
				default:
					_ = m.Evict(now(), name)
				}
			}
		})
	}
	working.Wait()
	require.Positive(t, begun.Load())
	require.NoError(t, cell.Check())
}

// work has a framework take some of what it is offered, and returns how many tasks
// it began.
func work(m *offers.Master, f *offers.Framework, now func() time.Time, machine omega.MachineID) (begun int) {
	news, _ := f.News(now())
	for i, o := range news.Offers {
		if i%2 == 0 {
			got, _ := f.Accept(now(), launch(o.ID, 3))
			begun += len(got)
		} else {
			_ = f.Decline(now(), offers.For(time.Second), o.ID)
		}
	}
	id, err := f.Request(now(), offers.Request{Machines: 1, Each: resources.Vector{15}})
	_ = f.Suppress(now())
	_ = f.Revive(now())
	f.Held()
	_, _ = m.Vacate(now(), machine, now().Add(time.Second))
	_ = f.Reply(now(), machine, true)
	m.Replies(machine)
	if err == nil {
		_ = f.Withdraw(now(), id)
	}
	for _, a := range slices.Collect(f.Tasks()) {
		_ = f.Release(now(), a.ID)
	}
	return begun
}

// A time box is stepped, yielded and ended by goroutines of its schedulers at once.
func TestTimeBox_IsSafeForConcurrentUse(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{1})
	var schedulers []*omega.Scheduler
	for i := range 3 {
		s, err := cell.Register(fmt.Sprint("s", i), omega.Limits{})
		require.NoError(t, err)
		schedulers = append(schedulers, s)
	}
	for range 20 {
		box, err := offers.NewTimeBox(start, time.Second, nil, schedulers...)
		require.NoError(t, err)
		var using sync.WaitGroup
		for _, s := range schedulers {
			using.Go(func() {
				for n := range 20 {
					box.Step(at(float64(n)))
					box.Yield(at(float64(n)), s)
				}
			})
		}
		var errOpen error
		using.Go(func() { errOpen = box.Open() })
		using.Wait()
		require.NoError(t, errOpen)
		holder, _ := box.Step(at(100))
		require.Nil(t, holder)
		for _, s := range schedulers {
			m, _ := cell.Machine("node-0")
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted, "nothing restricts it any more")
			a, _ := tx.Allocation(0)
			require.NoError(t, s.Release(a))
		}
	}
}
