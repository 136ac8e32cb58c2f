package loop_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// A step of a job of one task on 5,000 half-full machines, by order, while each account
// has a job in the order. Order "hand" is byShare: a heap that a hook charges and
// credits.
func BenchmarkStepInOrder(b *testing.B) {
	const machines = 5000
	each := resources.Vector{16_000, 64 << 30}
	total := each.Scale(machines)
	for _, accounts := range []int{3, 100, 1000} {
		for _, name := range []string{"FIFO", "precedence", "deadline", "hand", "share", "service"} {
			b.Run(fmt.Sprintf("accounts=%d/order=%s", accounts, name), func(b *testing.B) {
				cell, err := omega.NewCell(omega.Config{})
				require.NoError(b, err)
				for i := range machines {
					_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: each})
					require.NoError(b, err)
				}
				s, err := cell.Register("bench", omega.Limits{})
				require.NoError(b, err)
				fair := newByShare(total)
				share, err := loop.NewByShare[string](total, cell.Usage)
				require.NoError(b, err)
				service, err := loop.NewByService[string](total, cell.Usage)
				require.NoError(b, err)
				order := map[string]loop.Order[string]{
					"FIFO": loop.FIFO[string](), "precedence": loop.ByPrecedence[string](), "deadline": loop.ByDeadline[string](),
					"hand": fair, "share": share, "service": service,
				}[name]
				type held struct {
					id  omega.AllocationID
					job *loop.Job[string]
				}
				live, oldest := make([]held, 0, 8*machines), 0
				l, err := loop.New(loop.Config[string]{
					Store: omega.Local{Scheduler: s}, Order: order,
					Observe: func(e loop.Event[string]) {
						if e.Kind != loop.Placed {
							return
						}
						one := held{e.Allocations[0], e.Pending.Job()}
						if name == "hand" {
							fair.observe(e)
						}
						if len(live) < cap(live) {
							live = append(live, one)
							return
						}
						old := live[oldest]
						if err := s.Release(old.id); err != nil {
							b.Fatal(err)
						}
						if name == "hand" {
							_ = fair.heap.Credit(fair.user(old.job.Account), old.job.Need)
						}
						live[oldest], oldest = one, (oldest+1)%len(live)
					},
				})
				require.NoError(b, err)
				tenants := make([]omega.Account, accounts)
				for i := range tenants {
					tenants[i] = accountOf(cell, fmt.Sprint("tenant-", i))
				}
				next := 0
				submit := func() {
					j := loop.Job[string]{Account: tenants[next%accounts], Need: resources.Vector{1000, 4 << 30}, Tasks: 1}
					next++
					if _, err := l.Submit(epoch, j); err != nil {
						b.Fatal(err)
					}
				}
				one := func() {
					submit()
					if _, _, err := l.Step(b.Context(), epoch); err != nil {
						b.Fatal(err)
					}
				}
				for range accounts {
					submit()
				}
				for range cap(live) {
					one()
				}
				b.ReportAllocs()
				for b.Loop() {
					one()
				}
			})
		}
	}
}
