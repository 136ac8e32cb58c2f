//go:build explore

package explore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/explore"
)

// access is one operation on a memory: a swap of words, or a read.
type access struct {
	words    []int
	from, to int
	read     bool
}

// model is the specification of a memory. Its state is the words.
var model = porcupine.Model{
	Init: func() any { return [4]int{} },
	Step: func(state, input, output any) (bool, any) {
		words, a := state.([4]int), input.(access)
		if a.read {
			return output.(int) == words[a.words[0]], words
		}
		same := !slices.ContainsFunc(a.words, func(w int) bool { return words[w] != a.from })
		if same {
			for _, w := range a.words {
				words[w] = a.to
			}
		}
		return output.(bool) == same, words
	},
}

// accesses is a scenario in which each thread does some accesses.
func accesses(f fault, threads ...[]access) func(*explore.Run) {
	return func(r *explore.Run) {
		m := newMemory(4, f)
		do := func(a access) {
			r.Do(a, func() any {
				if a.read {
					return m.read(a.words[0])
				}
				return m.swap(a.words, a.from, a.to)
			})
		}
		for i, list := range threads {
			r.Go(string(rune('a'+i)), func() {
				for _, a := range list {
					do(a)
				}
			})
		}
		r.Check(func() error {
			for w := range m.words {
				do(access{words: []int{w}, read: true})
			}
			return linearizable(r.History())
		})
	}
}

func linearizable(history []explore.Operation) error {
	ops := make([]porcupine.Operation, len(history))
	for i, op := range history {
		ops[i] = porcupine.Operation{ClientId: op.Thread + 1, Input: op.Input, Output: op.Output, Call: op.Call, Return: op.Return}
	}
	if !porcupine.CheckOperations(model, ops) {
		return fmt.Errorf("not linearizable: %+v", history)
	}
	return nil
}

func swapOf(from int, words ...int) access { return access{words: words, from: from, to: from + 1} }
func readOf(word int) access               { return access{words: []int{word}, read: true} }

// scenarios are the ways in which swaps meet.
var scenarios = map[string][][]access{
	"two that overlap":  {{swapOf(0, 0, 1)}, {swapOf(0, 1, 2)}},
	"two and a reader":  {{swapOf(0, 0, 1)}, {swapOf(0, 1, 2)}, {readOf(0), readOf(1)}},
	"three in a ring":   {{swapOf(0, 0, 1)}, {swapOf(0, 1, 2)}, {swapOf(0, 0, 2)}},
	"two by two":        {{swapOf(0, 0, 1), swapOf(1, 0, 1)}, {swapOf(0, 1, 2), swapOf(1, 1, 2)}},
	"one word and many": {{swapOf(0, 1)}, {swapOf(0, 0, 1, 2)}},
}

func TestSwap_IsLinearizableInAllSchedules(t *testing.T) {
	preemptions := 3
	if testing.Short() {
		preemptions = 2
	}
	for name, threads := range scenarios {
		t.Run(name, func(t *testing.T) {
			res, err := explore.Explore(explore.Config{Preemptions: preemptions}, accesses(none, threads...))
			require.NoError(t, err)
			t.Logf("%d runs, the longest of %d steps", res.Runs, res.Steps)
		})
	}
}

// A fault shows after few runs and one preemption, with a trace that can be
// read.
func TestSwap_FaultsAreFound(t *testing.T) {
	tests := map[string]struct {
		fault    fault
		scenario string
	}{
		"an undecided swap is replaced without help": {steal, "two that overlap"},
		"a word is checked and then stored":          {checkThenStore, "two that overlap"},
		"an undecided swap is read":                  {dirtyRead, "two and a reader"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := explore.Explore(explore.Config{Preemptions: 3}, accesses(tt.fault, scenarios[tt.scenario]...))
			var f *explore.ScheduleError
			require.ErrorAs(t, err, &f)
			require.ErrorContains(t, err, "not linearizable")
			require.Equal(t, 1, f.Preemptions)
			require.Less(t, len(f.Trace), 70)
			t.Log(err)
			require.Error(t, explore.Replay(explore.Config{}, f.Schedule, accesses(tt.fault, scenarios[tt.scenario]...)))
		})
	}
}
