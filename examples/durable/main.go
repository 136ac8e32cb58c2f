// Command durable runs tasks on a cell that survives its process.
//
// It starts a runner, which claims room for six tasks, and kills it (kill -9) once that has
// told of three. The second runner opens the same journal. It finds the tasks that still
// run and attaches to them, and starts the rest. So each task is started once.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

var tasks = []string{"index-1", "index-2", "index-3", "report-1", "report-2", "report-3"}

func main() {
	ctx := context.Background()
	var err error
	if folder := os.Getenv("DURABLE_JOURNAL"); folder != "" {
		err = run(ctx, folder, os.Stdin, os.Stdout)
	} else {
		err = killed(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killed starts a runner, kills it in the middle, and starts another one.
func killed(ctx context.Context, out io.Writer) error {
	folder, err := os.MkdirTemp("", "durable")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, lines := range []int{3, -1} {
		if err := child(ctx, folder, lines, out); err != nil {
			return err
		}
	}
	return nil
}

// child starts a runner as a process of its own, and kills it after so many lines of
// output, if that is not negative.
func child(ctx context.Context, folder string, lines int, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), "DURABLE_JOURNAL="+folder)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe() // open until the runner has ended
	}
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
	fmt.Fprintln(out, "kill -9")
	err = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

// run is a runner: it attaches to the tasks that run, and starts the others. An account for
// each task names it in the journal.
func run(ctx context.Context, folder string, in io.Reader, out io.Writer) error {
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
	running := map[string]omega.AllocationID{}
	for a := range s.Allocations() {
		name, _ := cell.AccountName(a.Account)
		running[name] = a.ID
	}
	for _, task := range tasks {
		if _, ok := running[task]; ok {
			fmt.Fprintln(out, "attached to", task)
			continue
		}
		if running[task], err = start(ctx, cell, s, task); err != nil {
			return err
		}
		fmt.Fprintln(out, "started", task)
		if len(running) == 3 {
			_, _ = io.Copy(io.Discard, in) // the first runner does not get beyond this
		}
	}
	for _, task := range tasks {
		if err := s.Release(running[task]); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "done:", strings.Join(tasks, " "))
	return cell.Close(ctx)
}

// start claims room for a task. Once it returns the journal has the claim.
func start(ctx context.Context, cell *journal.Cell, s *omega.Scheduler, task string) (omega.AllocationID, error) {
	account, err := cell.Account(ctx, task)
	if err != nil {
		return omega.AllocationID{}, err
	}
	m, _ := cell.Machine("node-1")
	var tx omega.Txn
	claim := tx.Claim(omega.Claim{Machine: m, Account: account, Need: resources.Vector{1}})
	if _, err := s.CommitContext(ctx, &tx); err != nil {
		return omega.AllocationID{}, err
	}
	a, ok := tx.Allocation(claim)
	if !ok {
		return a, tx.Err(claim)
	}
	return a, nil
}
