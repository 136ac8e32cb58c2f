package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
)

// TestMain is the program, too, for runners and tasks that a test starts.
func TestMain(m *testing.M) {
	if os.Getenv("DURABLE_FOLDER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// ran returns the tasks that have run, in order of their names, and checks that no room is held.
func ran(t *testing.T, folder string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "ran"))
	require.NoError(t, err)
	store, err := file.Open(folder)
	require.NoError(t, err)
	cell, err := journal.Open(t.Context(), store, journal.Config{})
	require.NoError(t, err)
	for a := range cell.Allocations() {
		t.Errorf("room is held: %+v", a)
	}
	require.NoError(t, errors.Join(cell.Close(t.Context()), store.Close()))
	return slices.Sorted(slices.Values(strings.Fields(string(text))))
}

// folder returns a folder with a short path, since it has sockets.
func folder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "durable") //nolint:usetesting // t.TempDir is too long for the path of a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// Runners are killed after each line of output and at moments between two lines. Each task runs
// once, and no room is lost.
func TestRunner_HasEachTaskRunOnce(t *testing.T) {
	for lines := range len(tasks) + 3 {
		for _, after := range []time.Duration{0, 700 * time.Microsecond} {
			t.Run(fmt.Sprint(lines, after), func(t *testing.T) {
				t.Parallel()
				folder := folder(t)
				var out strings.Builder
				require.NoError(t, runner(t.Context(), folder, lines, after, &out))
				require.NoError(t, runner(t.Context(), folder, lines/2, after, &out))
				require.NoError(t, runner(t.Context(), folder, -1, 0, &out))
				require.Equal(t, tasks, ran(t, folder), out.String())
				require.Contains(t, out.String(), "done: 6 tasks")
				if lines == 3 {
					require.Regexp(t, `(attached to|found the end of) index-1`, out.String())
				}
			})
		}
	}
}

// A runner that comes when all is done runs nothing again.
func TestRun_RunsNothingTwice(t *testing.T) {
	folder := folder(t)
	var out strings.Builder
	for range 2 {
		require.NoError(t, runner(t.Context(), folder, -1, 0, &out))
	}
	require.Equal(t, tasks, ran(t, folder), out.String())
}

// Of several processes for one task one runs it.
func TestTask_RunsOnce(t *testing.T) {
	folder := folder(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failed := make(chan error)
	for range 4 {
		go func() {
			cmd, err := again(ctx, "DURABLE_FOLDER="+folder, "DURABLE_TASK=one")
			if err == nil {
				err = cmd.Run()
			}
			failed <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-failed)
	}
	require.Equal(t, []string{"one"}, ran(t, folder))
}
