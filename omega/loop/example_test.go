package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// exampleCell returns a cell of two machines with 4 CPU each, and a scheduler.
func exampleCell() (*omega.Cell, *omega.Scheduler) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "node-0", Capacity: resources.Vector{4}},
		{Name: "node-1", Capacity: resources.Vector{4}},
	}})
	if err != nil {
		panic(err)
	}
	s, err := cell.Register("batch", omega.Limits{})
	if err != nil {
		panic(err)
	}
	return cell, s
}

// A live loop: jobs are submitted from anywhere, and what is granted to them
// arrives at the hook, which here runs the work and gives it back.
func ExampleLoop_Run() {
	_, s := exampleCell()
	ctx, cancel := context.WithCancelCause(context.Background())
	finished := errors.New("nothing left to do")
	left := 2
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Order: loop.ByPrecedence[string](),
		Observe: func(e loop.Event[string]) {
			fmt.Println(e.Pending.Job().Key, e.Kind, len(e.Allocations))
			for _, a := range e.Allocations {
				_ = s.Release(a) // the work is done
			}
			if e.Kind == loop.Complete {
				if left--; left == 0 {
					cancel(finished)
				}
			}
		},
	})
	if err != nil {
		panic(err)
	}
	now := time.Now()
	_, _ = l.Submit(now, loop.Job[string]{Key: "report", Need: resources.Vector{1}, Tasks: 2})
	_, _ = l.Submit(now, loop.Job[string]{Key: "train", Need: resources.Vector{3}, Tasks: 2, Gang: true})

	fmt.Println(l.Run(ctx))
	// Output:
	// report submitted 0
	// train submitted 0
	// report placed 2
	// report complete 0
	// train placed 2
	// train complete 0
	// nothing left to do
}

// A simulator steps the loop in virtual time. The decision takes a second, in
// which another scheduler takes the machine that was chosen.
func ExampleLoop_Step() {
	cell, s := exampleCell()
	start := time.Unix(0, 0)
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Think: func(*loop.Job[string], int) time.Duration { return time.Second },
		Observe: func(e loop.Event[string]) {
			fmt.Println(e.At.Sub(start), e.Kind)
		},
		MinDelay: 500 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	_, _ = l.Submit(start, loop.Job[string]{Key: "job", Need: resources.Vector{4}, Tasks: 1})

	now, more, err := l.Step(context.Background(), start)
	other, _ := cell.Register("service", omega.Limits{})
	node0, _ := cell.Machine("node-0")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Need: resources.Vector{1}})
	_, _ = other.Commit(&tx)
	for more && err == nil {
		now, more, err = l.Step(context.Background(), now)
	}
	stats := l.Stats()
	fmt.Printf("busy %v of %v, %v conflicts per success\n", stats.Useful+stats.Wasted, stats.Elapsed, stats.ConflictFraction())
	// Output:
	// 0s submitted
	// 1s backed off
	// 2.5s placed
	// 2.5s complete
	// busy 2s of 2.5s, 1 conflicts per success
}

// An event is a line of a structured log as it is.
func ExampleEvent() {
	_, s := exampleCell()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key != "job" {
				return slog.Attr{} // time, level, message
			}
			return a
		},
	}))
	l, err := loop.New(loop.Config[string]{
		Store:   omega.Local{Scheduler: s},
		Observe: func(e loop.Event[string]) { log.Info("scheduler", "job", e) },
	})
	if err != nil {
		panic(err)
	}
	now := time.Unix(0, 0)
	_, _ = l.Submit(now, loop.Job[string]{Key: "train", Need: resources.Vector{1}, Tasks: 3})
	_, _ = l.Submit(now, loop.Job[string]{Key: "huge", Need: resources.Vector{5}, Tasks: 1})
	for range 2 {
		_, _, _ = l.Step(context.Background(), now)
	}
	// Output:
	// job.key=train job.event=submitted job.left=3 job.attempts=0
	// job.key=huge job.event=submitted job.left=1 job.attempts=0
	// job.key=train job.event=placed job.placed=3 job.left=0 job.attempts=1 job.age=0s
	// job.key=train job.event=complete job.left=0 job.attempts=1 job.age=0s
	// job.key=huge job.event=parked job.left=1 job.attempts=1 job.age=0s job.err="omega: need 1 x kind0=5, missing room for 1 (0 of 2 machines will do, 2 too small in kind0, missing kind0=1 on the nearest): need can never fit"
}

// A task is preempted by another scheduler. The hook has it stopped, and submits it
// again.
func ExampleEvent_preempted() {
	cell, batch := exampleCell()
	service, _ := cell.Register("service", omega.Limits{Highest: 1})
	var l *loop.Loop[string]
	var task omega.AllocationID
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: batch},
		Observe: func(e loop.Event[string]) {
			switch e.Kind {
			case loop.Placed:
				fmt.Println(e.Pending.Job().Key, "is placed")
				task = e.Allocations[0]
			case loop.Preempted:
				fmt.Println(e.Pending.Job().Key, "is", e.Mark.Fate, "by", e.Mark.By, "and has", e.Until.Sub(e.At))
				_ = batch.Release(e.Mark.Allocation.ID) // it has stopped
				_, _ = l.Submit(e.At, loop.Job[string]{Key: "second run", Need: resources.Vector{4}, Tasks: 1})
			}
		},
	})
	if err != nil {
		panic(err)
	}
	now := time.Unix(0, 0)
	_, _ = l.Submit(now, loop.Job[string]{Key: "first run", Need: resources.Vector{4}, Tasks: 1})
	_, _, _ = l.Step(context.Background(), now)

	for m := range cell.Machines() {
		if m.ID.Node() == task.Node() {
			tx := omega.Txn{Now: now, Grace: time.Minute}
			tx.Claim(omega.Claim{Machine: m.ID, Need: resources.Vector{1}, Precedence: 1, Victims: []omega.AllocationID{task}})
			_, _ = service.Commit(&tx)
		}
	}
	for more := true; more; {
		if now, more, err = l.Step(context.Background(), now); err != nil {
			panic(err)
		}
	}
	// Output:
	// first run is placed
	// first run is preempted by service and has 1m0s
	// second run is placed
}
