package elastic_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// newCell returns a cell of machines with the given capacities.
func newCell(t require.TestingT, capacities ...resources.Vector) *omega.Cell {
	var cfg omega.Config
	for i, c := range capacities {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprintf("node-%d", i), Capacity: c})
	}
	cell, err := omega.NewCell(cfg)
	require.NoError(t, err)
	return cell
}

func register(t require.TestingT, cell *omega.Cell, name string, limits omega.Limits) *omega.Scheduler {
	s, err := cell.Register(name, limits)
	require.NoError(t, err)
	return s
}

// occupy commits one claim, which has to fit.
func occupy(t require.TestingT, s *omega.Scheduler, m omega.MachineID, need resources.Vector) omega.AllocationID {
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: need})
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	id, _ := tx.Allocation(0)
	return id
}

// look refreshes the scheduler's snapshot and returns the room in it.
func look(t require.TestingT, s *omega.Scheduler, q omega.Query) elastic.Room {
	s.Snapshot().Refresh(time.Time{})
	room, err := elastic.Look(s.Snapshot(), q)
	require.NoError(t, err)
	return room
}

// doubtful is a store that cannot tell the outcome of its next commits. The transaction is
// applied at the first of them if early, else with the commit after them.
type doubtful struct {
	omega.Local
	lost    int // commits without a known outcome that are left
	early   bool
	applied bool
	granted int
	err     error
	before  func() // runs between refresh and commit
}

func (d *doubtful) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	if d.before != nil {
		d.before()
	}
	if !d.applied && (d.early || d.lost == 0) {
		d.granted, d.err = d.Local.Commit(ctx, tx)
		d.applied = true
	}
	if d.lost > 0 {
		d.lost--
		return 0, omega.ErrOutcome
	}
	d.applied = false
	return d.granted, d.err
}

// resize resizes a team in the cell of its scheduler.
func resize(team *elastic.Team, s *omega.Scheduler, n int) error {
	return team.Resize(context.Background(), omega.Local{Scheduler: s}, time.Time{}, n)
}

// maps returns a job of n maps of a minute each.
func maps(n int) elastic.MapReduce {
	return elastic.MapReduce{Maps: n, MapWork: time.Duration(n) * time.Minute}
}

func jobOf(m elastic.MapReduce, asked int) elastic.Job {
	return elastic.Job{Need: resources.Vector{1}, Asked: asked, Most: m.Parallelism(), Model: m.Time}
}

func plan(t *testing.T, p elastic.Policy, j elastic.Job, r elastic.Room) elastic.Plan {
	t.Helper()
	got, err := p.Plan(j, r)
	require.NoError(t, err)
	return got
}

// machineAt returns the ID of the first machine that has a node number in a cell
// with machines.
func machineAt(cell *omega.Cell, node int) (id omega.MachineID) {
	for one := range cell.Machines() {
		text, _ := one.ID.MarshalText()
		tag, _, _ := strings.Cut(string(text), "/")
		if err := id.UnmarshalText(fmt.Appendf(nil, "%s/%d", tag, node)); err != nil {
			panic(err)
		}
		return id
	}
	panic("the cell has no machine")
}
