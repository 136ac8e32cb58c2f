package schedulers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// cellPlacer is an omega scheduler: next fit in its snapshot, then a commit.
type cellPlacer struct {
	tb    testing.TB
	sched *omega.Scheduler
	snap  *omega.Snapshot
	held  []omega.AllocationID // by task
	where []int                // number of the machine by task
	tx    omega.Txn
	found []omega.MachineID // by claim of tx
}

func openCell(tb testing.TB, s setting) placer {
	tb.Helper()
	return newCell(tb, s)
}

func newCell(tb testing.TB, s setting) *cellPlacer {
	tb.Helper()
	machines := make([]omega.Machine, s.machines)
	for i := range machines {
		machines[i] = omega.Machine{Name: fmt.Sprint("node-", i), Capacity: vector(&s.capacity)}
	}
	cell, err := omega.NewCell(omega.Config{Machines: machines})
	require.NoError(tb, err)
	ids := make([]omega.MachineID, 0, s.machines)
	for m := range cell.Machines() {
		ids = append(ids, m.ID)
	}
	sched, err := cell.Register("scheduler", omega.Limits{})
	require.NoError(tb, err)
	p := &cellPlacer{tb: tb, sched: sched, snap: sched.Snapshot(), held: make([]omega.AllocationID, len(s.needs)), where: make([]int, len(s.needs))}
	s.eachRunning(func(task, machine int) {
		p.tx.Reset()
		p.tx.Claim(omega.Claim{Machine: ids[machine], Need: vector(&s.needs[task])})
		require.Equal(tb, 1, p.commit())
		p.held[task], _ = p.tx.Allocation(0)
	})
	return p
}

func vector(n *load.Need) resources.Vector { return resources.Vector{n[0], n[1], n[2]} }

func (p *cellPlacer) commit() (granted int) {
	granted, err := p.sched.Commit(&p.tx)
	if err != nil {
		p.tb.Fatal(err)
	}
	return granted
}

func (p *cellPlacer) place(task int, need *load.Need) bool { return p.placeJob(task, need, 1) == 1 }

func (p *cellPlacer) placeJob(first int, need *load.Need, k int) (placed int) {
	v := vector(need)
	for refreshed := false; placed < k; {
		p.tx.Reset()
		p.found = p.found[:0]
		p.snap.Place(omega.Query{Need: v}, omega.NextFit(), k-placed, func(m omega.MachineID, tasks int) {
			for range tasks {
				p.tx.Claim(omega.Claim{Machine: m, Need: v})
				p.found = append(p.found, m)
			}
		})
		n := p.tx.Len()
		if n == 0 {
			if refreshed {
				break
			}
			p.snap.Refresh(time.Now())
			refreshed = true
			continue
		}
		p.commit()
		for i := range n {
			if a, ok := p.tx.Allocation(i); ok {
				p.held[first+placed], p.where[first+placed] = a, int(p.found[i].Node())
				placed++
			}
		}
	}
	return placed
}

// release is a transaction too, so that the snapshot knows of the room.
func (p *cellPlacer) release(task int) {
	p.tx.Reset()
	p.tx.Release(p.held[task])
	p.commit()
	if err := p.tx.Err(0); err != nil {
		p.tb.Fatal(err)
	}
}
