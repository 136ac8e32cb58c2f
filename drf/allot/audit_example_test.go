package allot_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Schedulers took from one cell as they liked. Afterwards: how much of its fair
// share does each user have, and which user envies which?
func ExampleAudit() {
	total := resources.Vector{90, 180} // CPUs, GB
	kinds := []string{"CPU", "memory"}
	names := []string{"batch", "service", "report"}
	users := []allot.Holding{
		{Usage: resources.Vector{60, 30}, Demand: resources.Vector{3, 1}},
		{Usage: resources.Vector{30, 120}, Weight: 2},
		{Usage: resources.Vector{5, 30}, Demand: resources.Vector{1, 6}},
	}

	report, err := allot.Audit(total, users)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, s := range report.Users {
		fmt.Printf("%-7s holds %.2f of the %-6s  fair %.2f  violation %+.2f  short %v\n",
			names[i], s.Held, kinds[s.Kind], s.Fair, s.Violation, s.Short)
	}
	fmt.Printf("Jain's index %.2f\n", report.Jain)

	envies, _ := allot.Envies(users) // audited, so they are valid
	for _, e := range envies {
		fmt.Printf("%s could run %d tasks with its weighted part of the holdings of %s, instead of %d\n",
			names[e.User], e.Other, names[e.Of], e.Own)
	}
	// Output:
	// batch   holds 0.67 of the CPU     fair 0.25  violation +0.42  short false
	// service holds 0.67 of the memory  fair 0.50  violation +0.17  short false
	// report  holds 0.17 of the memory  fair 0.25  violation -0.08  short true
	// Jain's index 0.78
	// report could run 10 tasks with its weighted part of the holdings of service, instead of 5
}

// Preempting back to fairness: early has filled the cell before late came. Late
// gets its half, one task at a time, and then nothing more.
func ExamplePreempt() {
	task := resources.Vector{1}
	four := task.Scale(4)
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "a", Capacity: four}, {Name: "b", Capacity: four}}})
	index := map[string]int{"early": 0, "late": 1}
	early, _ := cell.Register("early", omega.Limits{})
	late, _ := cell.Register("late", omega.Limits{Highest: 1})
	for m := range cell.Machines() {
		var tx omega.Txn
		for range 4 {
			tx.Claim(omega.Claim{Machine: m.ID, Need: task})
		}
		_, _ = early.Commit(&tx)
	}

	users := []allot.Holding{{Usage: early.Usage(), Demand: task}, {Demand: task}} // each has more to run
	for {
		p, err := allot.Preempt(task.Scale(8), users, index["late"])
		if err != nil {
			fmt.Println(err)
			return
		}
		ranks := omega.Ranking{
			Of:   func(a omega.Allocation, _ resources.Vector) (int, bool) { return p.Rank(index[a.Scheduler]) },
			Lose: func(a omega.Allocation, _ resources.Vector) bool { return p.Lose(index[a.Scheduler], a.Need) },
			Keep: func(a omega.Allocation) { p.Keep(index[a.Scheduler], a.Need) },
		}
		late.Snapshot().Refresh(time.Time{})
		m, victims, ok := late.Snapshot().FindOrPreempt(omega.Query{Need: task}, omega.NextFit(), ranks)
		if !ok {
			fmt.Println("late:", p.Verdict())
			break
		}
		tx := omega.Txn{Grace: omega.AtOnce, Now: time.Unix(1, 0)}
		tx.Claim(omega.Claim{Machine: m, Need: task, Precedence: 1, Victims: victims})
		if _, err := late.Commit(&tx); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(victims), "task of early makes room for late on machine", m.Node())
		users[0].Usage, users[1].Usage = early.Usage(), late.Usage()
	}

	p, _ := allot.Preempt(task.Scale(8), users, index["early"])
	fmt.Println("early:", p.Verdict())
	report, _ := allot.Audit(task.Scale(8), users)
	fmt.Println("Jain's index", report.Jain)
	// Output:
	// 1 task of early makes room for late on machine 0
	// 1 task of early makes room for late on machine 0
	// 1 task of early makes room for late on machine 0
	// 1 task of early makes room for late on machine 0
	// late: has its fair share
	// early: has its fair share
	// Jain's index 1
}
