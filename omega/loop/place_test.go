package loop_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// PlaceBy best fit claims, task by task, the machine on which the least is left, and the
// whole of the job with its account and precedence.
func TestPlaceBy_ClaimsWhatThePolicyPicks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		free := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 5).Draw(rt, "free")
		need := rapid.Int64Range(1, 4).Draw(rt, "need")
		k := rapid.IntRange(1, 8).Draw(rt, "k")
		cell := newCell(t, 10, 10, 10, 10, 10)
		other, s := register(t, cell, "other"), register(t, cell, "s")
		for i := range 5 {
			if i >= len(free) {
				claim(t, other, fmt.Sprint("m", i), cell, 10)
			} else {
				claim(t, other, fmt.Sprint("m", i), cell, 10-free[i])
			}
		}
		j := job("j", k, need)
		j.Account, j.Precedence = accountOf(cell, "a"), 3
		var tx omega.Txn
		s.Snapshot().Refresh(epoch)
		loop.PlaceBy[string](omega.BestFit())(&loop.Search[string]{Snapshot: s.Snapshot(), Job: &j, Tasks: k, Txn: &tx})
		for range k {
			best := -1
			for i := range free {
				if free[i] >= need && (best < 0 || free[i] < free[best]) {
					best = i
				}
			}
			if best >= 0 {
				free[best] -= need
			}
		}
		granted, err := s.Commit(&tx)
		if tx.Len() > 0 {
			require.NoError(rt, err)
		}
		require.Equal(rt, tx.Len(), granted)
		for i, want := range free {
			m, _ := cell.Machine(fmt.Sprint("m", i))
			state, _ := cell.State(m)
			require.Equal(rt, want, state.Free[0])
		}
		for a := range s.Allocations() {
			got := omega.Claim{Machine: a.Machine, Account: a.Account, Need: a.Need, Precedence: a.Precedence}
			require.Equal(rt, j.Claim(a.Machine), got)
		}
	})
}

// A Place of the program's own keeps the last machine for jobs of high precedence, and
// leaves the rest to a score.
func ExamplePlaceBy() {
	cell, s := exampleCell()
	keep, _ := cell.Machine("node-1")
	binpack, err := score.Binpack(score.Weights{})
	if err != nil {
		panic(err)
	}
	pack := loop.PlaceBy[string](omega.ByScore(binpack))
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Place: func(s *loop.Search[string]) {
			if free, ok := s.Snapshot.Free(keep); ok && s.Job.Precedence == 0 {
				s.Snapshot.Take(keep, free) // in this snapshot only
			}
			pack(s)
		},
		Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				fmt.Println(len(e.Allocations), "of", e.Pending.Job().Tasks)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	_, _ = l.Submit(epoch, loop.Job[string]{Key: "job", Need: resources.Vector{1}, Tasks: 6})
	_, _, _ = l.Step(context.Background(), epoch)
	// Output:
	// 4 of 6
}
