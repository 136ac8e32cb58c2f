package peers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// cellPlacer is an omega scheduler: search in its snapshot, then commit.
type cellPlacer struct {
	tb       testing.TB
	sched    *omega.Scheduler
	snap     *omega.Snapshot
	machines []omega.MachineID    // by node number
	held     []omega.AllocationID // by task, shared with the cell's other placers
	tx       omega.Txn
	gang     omega.Txn
	used     []uint32 // by machine: the gang that used it last
	gangs    uint32
	missed   int
}

func openCell(tb testing.TB, s setting) []placer {
	tb.Helper()
	placers := make([]placer, s.schedulers)
	for i, p := range cellPlacers(tb, s) {
		placers[i] = p
	}
	return placers
}

func cellPlacers(tb testing.TB, s setting) []*cellPlacer {
	tb.Helper()
	cell := newCell(tb, s.capacity, s.machines)
	held := make([]omega.AllocationID, s.tasks)
	machines := make([]omega.MachineID, 0, s.machines)
	for m := range cell.Machines() {
		machines = append(machines, m.ID)
	}
	placers := make([]*cellPlacer, s.schedulers)
	for i := range placers {
		sched, err := cell.Register(fmt.Sprint("scheduler-", i), omega.Limits{})
		if err != nil {
			tb.Fatal(err)
		}
		placers[i] = &cellPlacer{
			tb: tb, sched: sched, snap: sched.Snapshot(), machines: machines, held: held, used: make([]uint32, s.machines),
			gang: omega.Txn{Gang: true},
		}
	}
	return placers
}

func newCell(tb testing.TB, capacity load.Need, n int) *omega.Cell {
	tb.Helper()
	machines := make([]omega.Machine, n)
	for i := range machines {
		machines[i] = omega.Machine{Name: fmt.Sprint("node-", i), Capacity: vector(&capacity)}
	}
	cell, err := omega.NewCell(omega.Config{Machines: machines})
	if err != nil {
		tb.Fatal(err)
	}
	return cell
}

func vector(n *load.Need) resources.Vector { return resources.Vector{n[0], n[1], n[2]} }

func (p *cellPlacer) refresh() { p.snap.Refresh(time.Now()) }

func (p *cellPlacer) conflicts() int { return p.missed }

func (p *cellPlacer) place(task int, need *load.Need) bool {
	return p.placeThinking(task, need, nil)
}

func (p *cellPlacer) placeThinking(task int, need *load.Need, think func()) bool {
	v := vector(need)
	for {
		m, ok := p.find(v)
		if think != nil {
			think()
		}
		if !ok {
			return false
		}
		p.tx.Reset()
		p.tx.Claim(omega.Claim{Machine: m, Need: v})
		if p.commit(&p.tx) == 1 {
			p.held[task], _ = p.tx.Allocation(0)
			return true
		}
		if p.tb.Failed() {
			return false
		}
		p.missed++
		p.refresh()
	}
}

// find searches, and once more in a fresh snapshot if that finds nothing.
func (p *cellPlacer) find(v resources.Vector) (omega.MachineID, bool) {
	m, ok := p.snap.Find(omega.Query{Need: v}, omega.NextFit())
	if !ok {
		p.refresh()
		m, ok = p.snap.Find(omega.Query{Need: v}, omega.NextFit())
	}
	return m, ok
}

func (p *cellPlacer) commit(tx *omega.Txn) (granted int) {
	granted, err := p.sched.Commit(tx)
	if err != nil {
		p.tb.Error(err)
	}
	return granted
}

// release is a transaction too, so that the snapshot knows of the room.
func (p *cellPlacer) release(task int) {
	p.tx.Reset()
	p.tx.Release(p.held[task])
	p.commit(&p.tx)
	if err := p.tx.Err(0); err != nil {
		p.tb.Error(err)
	}
}

func (p *cellPlacer) placeJob(first int, need *load.Need, k int) (placed int) {
	v := vector(need)
	for placed < k {
		p.tx.Reset()
		p.snap.Place(omega.Query{Need: v}, omega.NextFit(), k-placed, func(m omega.MachineID, tasks int) {
			for range tasks {
				p.tx.Claim(omega.Claim{Machine: m, Need: v})
			}
		})
		n := p.tx.Len()
		if n == 0 || p.tb.Failed() {
			break
		}
		p.missed += n - p.commit(&p.tx)
		for i := range n {
			if a, ok := p.tx.Allocation(i); ok {
				p.held[first+placed] = a
				placed++
			}
		}
	}
	return placed
}

func (p *cellPlacer) placeGang(first int, need *load.Need, k int) bool {
	v := vector(need)
	for {
		p.gangs++
		p.gang.Reset()
		other := func(n locality.Node) bool { return p.used[n] != p.gangs }
		for range k {
			m, ok := p.snap.Find(omega.Query{Need: v, Allow: other}, omega.NextFit())
			if !ok {
				return false
			}
			p.used[m.Node()] = p.gangs
			p.gang.Claim(omega.Claim{Machine: m, Need: v})
		}
		if p.commit(&p.gang) == k {
			break
		}
		if p.tb.Failed() {
			return false
		}
		p.missed++
		p.refresh()
	}
	for i := range k {
		p.held[first+i], _ = p.gang.Allocation(i)
	}
	return true
}

func (p *cellPlacer) releaseGang(first, k int) {
	p.tx.Reset()
	for _, a := range p.held[first : first+k] {
		p.tx.Release(a)
	}
	p.commit(&p.tx)
}

// stall stops where a scheduler is most of the time: after it has looked and
// before it commits.
func (p *cellPlacer) stall(need *load.Need, wait func()) {
	const task = 0
	p.placeThinking(task, need, wait)
	p.release(task)
}

// touch changes machines by one claim and its release on each.
func (p *cellPlacer) touch(machines []int, need *load.Need) {
	for _, node := range machines {
		m, ok := p.machine(node)
		if !ok {
			p.tb.Fatal("no machine ", node)
		}
		p.tx.Reset()
		p.tx.Claim(omega.Claim{Machine: m, Need: vector(need)})
		p.commit(&p.tx)
		a, ok := p.tx.Allocation(0)
		if !ok {
			p.tb.Fatal(p.tx.Err(0))
		}
		p.tx.Reset()
		p.tx.Release(a)
		p.commit(&p.tx)
	}
}

// machine returns the ID of the machine with that number.
func (p *cellPlacer) machine(node int) (omega.MachineID, bool) {
	v := p.machines[node] // nothing is removed here
	_, ok := p.snap.Free(v)
	return v, ok
}
