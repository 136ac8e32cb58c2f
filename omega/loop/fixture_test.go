package loop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when virtual time begins.
var epoch = time.Date(2013, 4, 15, 0, 0, 0, 0, time.UTC)

// at returns the time that many seconds after the epoch.
func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

// newCell returns a cell with a machine of each capacity.
func newCell(tb testing.TB, capacities ...int64) *omega.Cell {
	tb.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(tb, err)
	for i, c := range capacities {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{c}})
		require.NoError(tb, err)
	}
	return cell
}

func register(tb testing.TB, cell *omega.Cell, name string) *omega.Scheduler {
	tb.Helper()
	s, err := cell.Register(name, omega.Limits{Lowest: -10, Highest: 10})
	require.NoError(tb, err)
	return s
}

// rig is a loop with jobs named by strings, its scheduler, and its log.
type rig struct {
	*loop.Loop[string]
	sched  *omega.Scheduler
	events []loop.Event[string]
	held   map[string][]omega.AllocationID
}

// newRig completes cfg by a store on the cell and a hook that keeps the log.
func newRig(tb testing.TB, cell *omega.Cell, cfg loop.Config[string]) *rig {
	tb.Helper()
	r := &rig{sched: register(tb, cell, "loop"), held: map[string][]omega.AllocationID{}}
	if cfg.Store == nil {
		cfg.Store = omega.Local{Scheduler: r.sched}
	}
	hook := cfg.Observe
	cfg.Observe = func(e loop.Event[string]) {
		r.events = append(r.events, e)
		key := e.Pending.Job().Key
		r.held[key] = append(r.held[key], e.Allocations...)
		if hook != nil {
			hook(e)
		}
	}
	var err error
	r.Loop, err = loop.New(cfg)
	require.NoError(tb, err)
	return r
}

func (r *rig) submit(tb testing.TB, now time.Time, job loop.Job[string]) *loop.Pending[string] {
	tb.Helper()
	p, err := r.Submit(now, job)
	require.NoError(tb, err)
	return p
}

// step does one step and returns when the next is due, the zero time if never.
func (r *rig) step(tb testing.TB, now time.Time) time.Time {
	tb.Helper()
	next, ok, err := r.Step(tb.Context(), now)
	require.NoError(tb, err)
	if !ok {
		return time.Time{}
	}
	return next
}

// settle steps as long as there is something to do at now, and returns when
// there is next.
func (r *rig) settle(tb testing.TB, now time.Time) time.Time {
	tb.Helper()
	next := r.step(tb, now)
	for n := 0; !next.IsZero() && !next.After(now); n++ {
		require.Less(tb, n, 100_000, "the loop never comes to rest")
		next = r.step(tb, now)
	}
	return next
}

// log returns what was observed since it was last asked, a job and a kind to
// a line.
func (r *rig) log() []string {
	var lines []string
	for _, e := range r.events {
		line := e.Pending.Job().Key + " " + e.Kind.String()
		if n := len(e.Allocations); n > 0 {
			line += fmt.Sprint(" ", n)
		}
		lines = append(lines, line)
	}
	r.events = nil
	return lines
}

// claim takes amount of machine node for another scheduler.
func claim(tb testing.TB, s *omega.Scheduler, machine string, cell *omega.Cell, amount int64) omega.AllocationID {
	tb.Helper()
	m, ok := cell.Machine(machine)
	require.True(tb, ok)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{amount}})
	_, err := s.Commit(&tx)
	require.NoError(tb, err)
	a, ok := tx.Allocation(0)
	require.True(tb, ok, tx.Err(0))
	return a
}

func job(key string, tasks int, need int64) loop.Job[string] {
	return loop.Job[string]{Key: key, Tasks: tasks, Need: resources.Vector{need}}
}

// accountOf returns the account of a name that is valid.
func accountOf(cell *omega.Cell, name string) omega.Account {
	a, err := cell.Account(context.Background(), name)
	if err != nil {
		panic(err)
	}
	return a
}
