// Command durable runs tasks on a cell that survives its process.
//
// Tasks are processes of their own. The runner is killed (kill -9) at any moment, also between
// a claim and the start of its task, or in a commit. The next runner opens the same journal
// and finds the claims. It attaches to the tasks that still run, starts those that
// were claimed and never began, and releases the room of those that have ended. So each task
// runs once.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

const length = 400 * time.Millisecond // time that a task takes

var tasks = []string{"index-1", "index-2", "index-3", "report-1", "report-2", "report-3"}

func main() {
	ctx := context.Background()
	folder, name := os.Getenv("DURABLE_FOLDER"), os.Getenv("DURABLE_TASK")
	var err error
	switch {
	case name != "":
		err = task(folder, name)
	case folder != "":
		err = run(ctx, folder, os.Stdout)
	default:
		err = show(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "durable:", err)
		os.Exit(1)
	}
}

// show kills two runners at random moments, and has a third one finish.
func show(ctx context.Context, out io.Writer) error {
	folder, err := os.MkdirTemp("", "durable")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for range 2 {
		if err := runner(ctx, folder, 1+rng.IntN(len(tasks)), time.Duration(rng.IntN(3000))*time.Microsecond, out); err != nil {
			return err
		}
	}
	return runner(ctx, folder, -1, 0, out)
}

// runner starts a runner as a process of its own. It kills the runner some time after so many
// lines of output, if that is not negative.
func runner(ctx context.Context, folder string, lines int, after time.Duration, out io.Writer) error {
	cmd, err := again(ctx, "DURABLE_FOLDER="+folder)
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	told := bufio.NewScanner(pipe)
	for n := 0; n != lines && told.Scan(); n++ {
		fmt.Fprintln(out, told.Text())
	}
	if lines < 0 {
		return errors.Join(told.Err(), cmd.Wait())
	}
	<-time.After(after)
	fmt.Fprintln(out, "kill -9")
	if err = cmd.Process.Kill(); errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	_ = cmd.Wait() // it was killed
	return err
}

// again returns this program as another process, with variables in its environment.
func again(ctx context.Context, variables ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), variables...)
	return cmd, nil
}

// run is a runner. It has each task run once, and releases the room of each that has ended. An
// account for each task names it in the journal.
func run(ctx context.Context, folder string, out io.Writer) error {
	store, err := file.Open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	cell, err := journal.Open(ctx, store, journal.Config{First: omega.Config{
		Machines: []omega.Machine{{Name: "node-1", Capacity: resources.Vector{8}}},
	}})
	if err != nil {
		return err
	}
	s, err := cell.Take(ctx, "runner", omega.Limits{})
	if err != nil {
		return err
	}
	claimed := map[string]omega.AllocationID{}
	for a := range s.Allocations() {
		name, _ := cell.AccountName(a.Account)
		claimed[name] = a.ID
	}
	ended := make(chan end, len(tasks))
	waits := 0
	for _, name := range tasks {
		id, some := claimed[name]
		if !some && finished(folder, name) {
			continue // its room was released
		}
		if !some {
			if id, err = claim(ctx, cell, s, name); err != nil {
				return err
			}
		}
		did, conn, err := attach(ctx, folder, name)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, did, name)
		go func() {
			wait(conn)
			ended <- end{name, id}
		}()
		waits++
	}
	for range waits {
		e := <-ended
		if !finished(folder, e.name) {
			return fmt.Errorf("task %s has died", e.name)
		}
		if err := s.Release(e.id); err != nil {
			return err
		}
		fmt.Fprintln(out, "released", e.name)
	}
	fmt.Fprintln(out, "done:", len(tasks), "tasks")
	return cell.Close(ctx)
}

// end is the end of a task.
type end struct {
	name string
	id   omega.AllocationID
}

// claim claims room for a task. Once it returns the journal has the claim.
func claim(ctx context.Context, cell *journal.Cell, s *omega.Scheduler, name string) (omega.AllocationID, error) {
	account, err := cell.Account(ctx, name)
	if err != nil {
		return omega.AllocationID{}, err
	}
	m, _ := cell.Machine("node-1")
	var tx omega.Txn
	at := tx.Claim(omega.Claim{Machine: m, Account: account, Need: resources.Vector{1}})
	if _, err := s.CommitContext(ctx, &tx); err != nil {
		return omega.AllocationID{}, err
	}
	a, ok := tx.Allocation(at)
	if !ok {
		return a, tx.Err(at)
	}
	return a, nil
}
