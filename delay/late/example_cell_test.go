package late_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// On a shared cell, copies are claimed below the originals. When a service needs
// room on the node of both, the copy goes and the original stays. The straggler
// that was copied runs on, and may be copied again.
func Example_precedence() {
	const copies, originals, urgent = -1, 0, 1
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "node-0", Capacity: resources.Vector{2}},
		{Name: "node-1", Capacity: resources.Vector{2}},
	}})
	batch, _ := cell.Register("batch", omega.Limits{Lowest: copies, Highest: originals})
	service, _ := cell.Register("service", omega.Limits{Lowest: urgent, Highest: urgent})
	machines := make([]omega.MachineID, 2)
	for i, name := range []string{"node-0", "node-1"} {
		machines[i], _ = cell.Machine(name)
	}

	// Each claim of a slot is an attempt of the job.
	book, _ := late.NewBook(late.Config{Nodes: 2, Slots: 4})
	job, _ := late.New(late.Policy{SlowTask: 0.5}, 3, book)
	attempts := map[omega.AllocationID]late.Attempt{}
	claim := func(node locality.Node, p omega.Precedence) omega.AllocationID {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: machines[node], Need: resources.Vector{1}, Precedence: p})
		if _, err := batch.Commit(&tx); err != nil {
			panic(err)
		}
		id, _ := tx.Allocation(0)
		return id
	}
	now := time.Date(2013, time.April, 15, 12, 0, 0, 0, time.UTC)
	var running []late.Attempt
	for _, node := range []locality.Node{0, 1, 1} {
		id := claim(node, originals)
		attempts[id], _ = job.Start(now, node)
		running = append(running, attempts[id])
	}

	// After two minutes one of the tasks on node 1 is far behind.
	now = now.Add(2 * time.Minute)
	for i, progress := range []float64{0.9, 0.9, 0.1} {
		if err := job.Report(now, running[i], progress); err != nil {
			panic(err)
		}
	}
	choice, _ := job.Pick(now, 0)
	id := claim(0, copies)
	attempts[id], _ = job.Copy(now, choice.Of, 0)
	fmt.Println("node 0 copies the straggler, which has", choice.Left, "left")

	// The victims of the service: of the two, the copy.
	victims, _ := cell.Victims(machines[0], resources.Vector{1}, urgent)
	tx := omega.Txn{Now: now, Grace: omega.AtOnce}
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{1}, Precedence: urgent, Victims: victims})
	if _, err := service.Commit(&tx); err != nil {
		panic(err)
	}
	for m := range batch.Marked() {
		survivor, ok, _ := job.Fail(now, attempts[m.Allocation.ID])
		fmt.Println("preempted at precedence", m.Allocation.Precedence, "by", m.By)
		fmt.Println("the straggler runs on:", ok && survivor == choice.Of)
		_ = batch.Release(m.Allocation.ID)
	}
	fmt.Println("copies:", book.Copies())
	// Output:
	// node 0 copies the straggler, which has 18m0s left
	// preempted at precedence -1 by service
	// the straggler runs on: true
	// copies: 0
}
