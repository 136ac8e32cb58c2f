package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The Step that preempts a task is the one that tells its framework.
func TestStep_TellsVictimsAtTheEndOfTheGrace(t *testing.T) {
	for name, grace := range map[string]time.Duration{"after a grace": 10 * time.Second, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{Grace: offers.For(grace)})
			told := 0
			victim := register(t, m, offers.Registration{Name: "victim", Notify: func() { told++ }})
			tasks, err := victim.Accept(start, launch(read(t, victim, start).Offers[0].ID, 10))
			require.NoError(t, err)
			owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
			told = 0
			_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
			require.NoError(t, err)
			if grace > 0 {
				require.Len(t, read(t, victim, start).Revoked, 1)
				told = 0
			}
			end := start.Add(grace)
			require.NoError(t, m.Step(end))
			require.Len(t, read(t, owner, end).Answers, 1)
			require.Equal(t, 1, told)
			news := read(t, victim, end)
			require.Len(t, news.Tasks, 1)
			require.Equal(t, tasks[0], news.Tasks[0].Allocation.ID)
			require.Equal(t, omega.Preempted, news.Tasks[0].Fate)
			require.Empty(t, news.Revoked, "it has come to that")
			next, due := m.Next()
			require.True(t, !due || next.After(end), "nothing is left to do at %v", next)
		})
	}
}

// A revocation without grace that a Request begins is done by the next Step, and Next
// says so.
func TestNext_ReportsRemainingWork(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	next, due := m.Next()
	require.True(t, due)
	require.Equal(t, start, next, "a new master has not looked at its machines")
	sooner := m.Sooner()
	register(t, m, offers.Registration{Name: "f"})
	next, due = m.Next()
	require.True(t, due)
	require.Equal(t, at(30), next)
	select {
	case <-sooner:
		t.Fatal("what is due now is due later than before")
	default:
	}
}
