package pool

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

// A note that cannot be written ends the pool with the error of the journal. Timers end with
// the pool, and a change behind its end starts none.
func TestReplicas_EndWithTheErrorOfTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := journaltest.NewSim(journaltest.Faults{}, rand.New(rand.NewPCG(1, 1)))
		first := omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{8}}}}
		cell, err := journal.Open(t.Context(), sim.Client(), journal.Config{First: first, TTL: 10 * time.Second})
		require.NoError(t, err)
		s, err := cell.Ephemeral(t.Context(), "service", omega.Limits{Divisible: true})
		require.NoError(t, err)
		board, err := cell.Board(t.Context(), "service")
		require.NoError(t, err)
		p, err := New(Config{Cell: cell.Cell, Scheduler: s, Replicas: board, Chunk: 4})
		require.NoError(t, err)
		lease, err := p.Acquire(t.Context(), "a", resources.Vector{1})
		require.NoError(t, err)
		require.True(t, p.replicas.delaying, "a lease is less than a chunk")
		require.NoError(t, lease.Release())
		require.NoError(t, p.Close(context.Background()))
		require.False(t, p.replicas.later.Stop(), "its timer has ended")
		p.mu.Lock()
		p.replicas.delaying = false
		p.replicas.delay()
		p.mu.Unlock()
		require.False(t, p.replicas.later.Stop(), "a change behind the end starts it again")
		require.NoError(t, cell.Close(t.Context()))

		rs := newReplicas(&p.core, &Config{Replicas: board, Chunk: 4})
		var lost []error
		rs.lost = func(err error) { lost = append(lost, err) }
		tenant, err := p.tenants.add(nil, "late")
		require.NoError(t, err)
		tenant.far = &far{use: resources.Vector{1}} // its note is to change
		p.replicas = rs
		p.mu.Lock()
		rs.mark(tenant)
		p.mu.Unlock()
		rs.write()
		require.Len(t, lost, 1)
		require.NotErrorIs(t, lost[0], context.Canceled)
		require.ErrorIs(t, lost[0], journal.ErrClosed)
	})
}
