package journals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Machines returns 5,000 machines with room for the allocations that Turnover holds.
func Machines() []omega.Machine {
	machines := make([]omega.Machine, 5000)
	for i := range machines {
		machines[i] = omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{16000, 64 << 30}}
	}
	return machines
}

// Turnover measures commits of several schedulers on a cell, each placed by next fit, committed
// and kept. A later commit releases the allocations of an earlier one. keep is called after each
// commit, with the allocations that the commit has released; nil for nothing to keep.
//
// It reports the CPU time a claim and the median of a commit's latency. An iteration is one
// commit: as many end in the timed part as b counts. A scheduler that has ended one takes the
// next, and all schedulers are in their first commit when the time begins.
func Turnover(b *testing.B, cell *omega.Cell, schedulers, claims int, keep func(released []omega.AllocationID, tx *omega.Txn) error) {
	b.Helper()
	TurnoverOf(b, []*omega.Cell{cell}, schedulers, claims, keep)
}

// TurnoverOf is [Turnover] of many copies of a cell, with so many schedulers each.
func TurnoverOf(b *testing.B, copies []*omega.Cell, each, claims int, keep func(released []omega.AllocationID, tx *omega.Txn) error) {
	b.Helper()
	schedulers := each * len(copies)
	next := make(chan struct{}) // without a buffer: a commit that is handed over has begun
	took := make([][]time.Duration, schedulers)
	var running sync.WaitGroup
	for i := range schedulers {
		s, err := copies[i%len(copies)].Take(b.Context(), fmt.Sprint("s", i), omega.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		running.Go(func() {
			t := turnover{scheduler: s, claims: claims, keep: keep, rng: rand.New(rand.NewPCG(1, uint64(i)))}
			for range next {
				began := time.Now()
				if err := t.commit(began); err != nil {
					b.Error(err)
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	for range schedulers {
		next <- struct{}{}
	}
	cpu := cputime.Used()
	for b.Loop() {
		next <- struct{}{}
	}
	cpu = cputime.Used() - cpu
	close(next)
	running.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(b.N*claims)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(cpu)/float64(b.N*claims), "cpu-ns/claim")
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "p50-ns")
}

// turnover is one scheduler of Turnover.
type turnover struct {
	scheduler *omega.Scheduler
	claims    int
	keep      func(released []omega.AllocationID, tx *omega.Txn) error
	rng       *rand.Rand
	tx        omega.Txn
	held      []omega.AllocationID // in the order in which they were granted
}

// commit makes one commit. It releases the oldest allocations while those of 64 commits stay held.
func (t *turnover) commit(now time.Time) error {
	t.tx.Reset()
	snap := t.scheduler.Snapshot()
	snap.Refresh(now)
	for range t.claims {
		need := resources.Vector{500 * (1 + t.rng.Int64N(4)), (1 + t.rng.Int64N(4)) << 30}
		if m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit()); ok {
			t.tx.Claim(omega.Claim{Machine: m, Need: need})
		}
	}
	released := t.held[:min(t.claims, max(0, len(t.held)-64*t.claims))]
	t.held = t.held[len(released):]
	for _, a := range released {
		t.tx.Release(a)
	}
	if _, err := t.scheduler.CommitContext(context.Background(), &t.tx); err != nil {
		return err
	}
	for n := range t.tx.Len() {
		if a, ok := t.tx.Allocation(n); ok {
			t.held = append(t.held, a)
		}
	}
	if t.keep == nil {
		return nil
	}
	return t.keep(released, &t.tx)
}
