package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

var large = resources.Vector{64_000, 256 << 30, 8}

// BenchmarkRound measures a round in which so many machines are offered that
// somebody else has just left, of 5,000 and 200 frameworks in ten roles.
func BenchmarkRound(b *testing.B) {
	for _, changed := range []int{1, 50, 5000} {
		b.Run(fmt.Sprintf("machines=5000/frameworks=200/changed=%d", changed), func(b *testing.B) {
			cell, machines := newCell(b, 5000, large)
			other, err := cell.Register("other", omega.Limits{})
			require.NoError(b, err)
			held := fill(b, other, machines)
			m := newMaster(b, cell, offers.Config{Timeout: offers.Never()})
			frameworks := make([]*offers.Framework, 200)
			for i := range frameworks {
				frameworks[i] = register(b, m, offers.Registration{
					Name: fmt.Sprint(i), Role: fmt.Sprint(i % 10), Weight: float64(1 + i%3),
				})
			}
			now := start
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for _, a := range held[:changed] {
					require.NoError(b, other.Release(a))
				}
				now = now.Add(time.Second)
				b.StartTimer()
				require.NoError(b, m.Step(now))
				b.StopTimer()
				for _, f := range frameworks {
					require.NoError(b, f.Suppress(now))
				}
				made := 0
				for _, f := range frameworks {
					made += takeAll(b, f)
				}
				require.Equal(b, changed, made)
				copy(held, fill(b, other, machines[:changed]))
				require.NoError(b, m.Step(now))
				for _, f := range frameworks {
					require.NoError(b, f.Revive(now))
				}
				b.StartTimer()
			}
		})
	}
}

// fill takes the machines as a whole.
func fill(b *testing.B, s *omega.Scheduler, machines []omega.MachineID) []omega.AllocationID {
	b.Helper()
	var tx omega.Txn
	for _, m := range machines {
		tx.Claim(omega.Claim{Machine: m, Need: large})
	}
	granted, err := s.Commit(&tx)
	require.NoError(b, err)
	require.Equal(b, len(machines), granted)
	held := make([]omega.AllocationID, len(machines))
	for i := range held {
		held[i], _ = tx.Allocation(i)
	}
	return held
}

// BenchmarkAccept measures an accept of one offer with one task, which takes all
// of it, or leaves something that goes to another framework at once.
func BenchmarkAccept(b *testing.B) {
	tests := []struct {
		name string
		task resources.Vector
	}{
		{"none", large},
		{"offered", resources.Vector{1000, 4 << 30, 0}},
	}
	for _, test := range tests {
		b.Run("rest="+test.name, func(b *testing.B) {
			cell, _ := newCell(b, 5000, large)
			m := newMaster(b, cell, offers.Config{})
			first := register(b, m, offers.Registration{Name: "first", Outstanding: 1})
			second := register(b, m, offers.Registration{Name: "second", Outstanding: 1})
			tasks := []offers.Task{{Need: test.task}}
			require.NoError(b, first.Suppress(start))
			queue := ids(read(b, first, start).Offers)
			var running []omega.AllocationID
			b.ReportAllocs()
			for b.Loop() {
				if len(queue) == 0 {
					b.StopTimer()
					require.NoError(b, second.Suppress(start))
					takeAll(b, second)
					require.NoError(b, first.Release(start, running...))
					require.NoError(b, first.Revive(start))
					require.NoError(b, first.Suppress(start))
					queue, running = ids(read(b, first, start).Offers), running[:0]
					require.Len(b, queue, 5000)
					require.NoError(b, second.Revive(start))
					b.StartTimer()
				}
				last := len(queue) - 1
				started, err := first.Accept(start, offers.Launch{Offers: queue[last:], Tasks: tasks})
				if err != nil {
					b.Fatal(err)
				}
				queue, running = queue[:last], append(running, started...)
			}
		})
	}
}

// takeAll accepts what f is offered, and ends that.
func takeAll(tb testing.TB, f *offers.Framework) (offered int) {
	tb.Helper()
	news := read(tb, f, start)
	for _, o := range news.Offers {
		tasks, err := f.Accept(start, offers.Launch{
			Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: o.Room}},
		})
		require.NoError(tb, err)
		require.NoError(tb, f.Release(start, tasks...))
	}
	return len(news.Offers)
}
