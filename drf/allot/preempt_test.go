package allot_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

func TestPreempt_NamesTheVictimAndItsAllocations(t *testing.T) {
	cpu := func(n int64) resources.Vector { return resources.Vector{n} }
	hold := func(n int64) allot.Holding { return allot.Holding{Usage: cpu(n)} }
	want := func(held, n int64) allot.Holding { return allot.Holding{Usage: cpu(held), Demand: cpu(n)} }
	full := []resources.Vector{{}, {}, {}}
	tests := map[string]struct {
		total   int64 // 12 if 0
		users   []allot.Holding
		free    []resources.Vector
		running []running
		want    preemption
	}{
		"the youngest": {
			users:   []allot.Holding{want(0, 2), hold(12)},
			running: []running{{User: 1, Need: cpu(2), Started: 3}, {User: 1, Need: cpu(2), Started: 5}, {User: 1, Need: cpu(2), Started: 4}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{1}},
		},
		"of equally young ones the later": {
			users:   []allot.Holding{want(0, 2), hold(12)},
			running: []running{{User: 1, Need: cpu(2)}, {User: 1, Need: cpu(2)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{1}},
		},
		"with the free room there": {
			users:   []allot.Holding{want(0, 3), hold(8)},
			free:    []resources.Vector{cpu(0), cpu(2), cpu(0)},
			running: []running{{User: 1, Machine: 0, Need: cpu(2), Started: 9}, {User: 1, Machine: 1, Need: cpu(1)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Machine: 1, Allocations: []int{1}},
		},
		"without an unnecessary allocation": {
			users:   []allot.Holding{want(0, 3), hold(12)},
			running: []running{{User: 1, Need: cpu(3), Started: 1}, {User: 1, Need: cpu(1), Started: 2}, {User: 1, Need: cpu(1), Started: 3}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
		"sparing the oldest that is unnecessary": {
			users:   []allot.Holding{want(0, 5), hold(12)},
			running: []running{{User: 1, Need: cpu(3), Started: 1}, {User: 1, Need: cpu(2), Started: 2}, {User: 1, Need: cpu(2), Started: 3}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{2, 0}},
		},
		"where the victim loses least, spared allocations included": {
			users: []allot.Holding{want(0, 3), hold(12)},
			running: []running{
				{User: 1, Machine: 1, Need: cpu(4)},
				{User: 1, Need: cpu(3), Started: 1},
				{User: 1, Need: cpu(1), Started: 2},
				{User: 1, Need: cpu(1), Started: 3},
			},
			want: preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{1}},
		},
		"without an allocation that has none of the missing kind": {
			users: []allot.Holding{want(0, 1), {Usage: resources.Vector{12, 1}}},
			running: []running{
				{User: 1, Need: cpu(1), Started: 1}, {User: 1, Need: resources.Vector{0, 1}, Started: 2},
			},
			want: preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
		"one that will do, where the young are too many": {
			users: []allot.Holding{want(0, 4), hold(8)},
			running: []running{
				{User: 1, Need: cpu(4), Started: 1}, {User: 1, Need: cpu(3), Started: 2},
			},
			want: preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
		"where the victim loses least": {
			users:   []allot.Holding{want(0, 1), hold(12)},
			running: []running{{User: 1, Machine: 0, Need: cpu(4)}, {User: 1, Machine: 1, Need: cpu(2)}, {User: 1, Machine: 2, Need: cpu(3)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Machine: 1, Allocations: []int{1}},
		},
		"where the fewest allocations go": {
			users:   []allot.Holding{want(0, 2), hold(12)},
			running: []running{{User: 1, Machine: 0, Need: cpu(1)}, {User: 1, Machine: 0, Need: cpu(1)}, {User: 1, Machine: 2, Need: cpu(2)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Machine: 2, Allocations: []int{2}},
		},
		"where the victim's allocation is younger": {
			users:   []allot.Holding{want(0, 2), hold(12)},
			running: []running{{User: 1, Machine: 0, Need: cpu(2), Started: 4}, {User: 1, Machine: 1, Need: cpu(2), Started: 6}, {User: 1, Machine: 2, Need: cpu(2), Started: 6}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Machine: 1, Allocations: []int{1}},
		},
		"the one with the largest violation": {
			users:   []allot.Holding{want(0, 1), hold(5), hold(7)},
			running: []running{{User: 1, Need: cpu(1)}, {User: 2, Need: cpu(1)}},
			want:    preemption{Verdict: allot.Yields, Victim: 2, Allocations: []int{1}},
		},
		"for its weight": {
			users:   []allot.Holding{want(0, 1), hold(5), {Usage: cpu(7), Weight: 2}},
			running: []running{{User: 1, Need: cpu(1)}, {User: 2, Need: cpu(1)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
		"the one listed first of two": {
			users:   []allot.Holding{hold(6), hold(6), want(0, 1)},
			running: []running{{User: 1, Need: cpu(1)}, {User: 0, Need: cpu(1)}},
			want:    preemption{Verdict: allot.Yields, Victim: 0, Allocations: []int{1}},
		},
		"the next, where the first has no machine": {
			users:   []allot.Holding{want(0, 2), hold(7), hold(5)},
			running: []running{{User: 1, Machine: 0, Need: cpu(1)}, {User: 1, Machine: 1, Need: cpu(1)}, {User: 2, Machine: 2, Need: cpu(2)}},
			want:    preemption{Verdict: allot.Yields, Victim: 2, Machine: 2, Allocations: []int{2}},
		},
		"down to the same share, but no further": {
			users:   []allot.Holding{want(4, 2), hold(8)},
			running: []running{{User: 1, Need: cpu(2)}, {User: 0, Need: cpu(4)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
		"below its fair share, if no lower than the user": {
			total:   4,
			users:   []allot.Holding{want(0, 1), hold(2), hold(2)},
			running: []running{{User: 1, Need: cpu(1)}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
		"not lower than the user": {
			users:   []allot.Holding{want(5, 2), hold(7)},
			running: []running{{User: 1, Need: cpu(2)}},
			want:    preemption{Verdict: noMachine},
		},
		"not the user's own": {
			users:   []allot.Holding{want(2, 1), hold(10)},
			running: []running{{User: 0, Need: cpu(2)}},
			want:    preemption{Verdict: noMachine},
		},
		"not from a user at its share": {
			users:   []allot.Holding{want(2, 1), hold(6)},
			running: []running{{User: 1, Need: cpu(6)}},
			want:    preemption{Verdict: allot.NoneOver},
		},
		"not for a user with its share": {
			users:   []allot.Holding{want(4, 1), hold(4), hold(4)},
			running: []running{{User: 1, Need: cpu(4)}},
			want:    preemption{Verdict: allot.HasShare},
		},
		"nothing where it fits": {
			users:   []allot.Holding{want(0, 1), hold(11)},
			free:    []resources.Vector{{}, {}, cpu(1)},
			running: []running{{User: 1, Need: cpu(1)}},
			want:    preemption{Verdict: fitsAlready, Machine: 2},
		},
		"nothing from two machines": {
			users:   []allot.Holding{want(0, 2), hold(12)},
			running: []running{{User: 1, Machine: 0, Need: cpu(1)}, {User: 1, Machine: 1, Need: cpu(1)}},
			want:    preemption{Verdict: noMachine},
		},
		"nothing useless, which would use up the share it may lose": {
			users: []allot.Holding{want(0, 4), {Usage: resources.Vector{4, 9}}},
			running: []running{
				{User: 1, Need: cpu(2), Started: 1}, {User: 1, Need: cpu(2), Started: 2}, {User: 1, Need: resources.Vector{0, 6}, Started: 3},
			},
			want: preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{1, 0}},
		},
		// The memory does not count for either user, as CPUs are their dominant
		// kind. So they are equal, and the one to ask next is the one that wants it
		// most.
		"not as low as the user with a share that does not rise": {
			users:   []allot.Holding{{Usage: cpu(4), Demand: resources.Vector{0, 1}}, {Usage: resources.Vector{8, 1}}},
			running: []running{{User: 1, Need: resources.Vector{4, 1}}},
			want:    preemption{Verdict: noMachine},
		},
		"above the user with a share that does not rise": {
			users:   []allot.Holding{{Usage: cpu(4), Demand: resources.Vector{0, 1}}, {Usage: resources.Vector{8, 1}}},
			running: []running{{User: 1, Need: resources.Vector{3, 1}}},
			want:    preemption{Verdict: allot.Yields, Victim: 1, Allocations: []int{0}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			total := resources.Vector{12, 12}
			if tt.total > 0 {
				total[0] = tt.total
			}
			if tt.free == nil {
				tt.free = full
			}
			got, err := preempt(total, tt.users, slices.IndexFunc(tt.users, func(u allot.Holding) bool { return u.Demand != resources.Vector{} }), tt.free, tt.running)
			require.NoError(t, err)
			require.Equal(t, tt.want, got, "%v", got.Verdict)
		})
	}
}

func TestPreempt_RefusesInvalidInput(t *testing.T) {
	one := resources.Vector{1}
	users := []allot.Holding{{Demand: one}, {Usage: resources.Vector{4}}}
	for name, tt := range badHoldings {
		t.Run(name, func(t *testing.T) {
			_, err := allot.Preempt(one, []allot.Holding{{}, tt.user}, 0)
			require.ErrorIs(t, err, tt.cause)
			require.ErrorContains(t, err, "allot: preempt: "+tt.text)
		})
	}
	for name, tt := range badTotals {
		t.Run("total "+name, func(t *testing.T) {
			_, err := allot.Preempt(tt.total, users, 0)
			require.ErrorIs(t, err, tt.cause)
		})
	}
	tests := map[string]struct {
		user  int
		users []allot.Holding
		cause error
		text  string
	}{
		"no user":        {user: -1, cause: drf.ErrUser, text: "for user -1, want one of 2"},
		"an unknown one": {user: 2, cause: drf.ErrUser, text: "for user 2, want one of 2"},
		"wants nothing":  {user: 1, cause: drf.ErrEmpty, text: "for user 1: demand 0,"},
		"would hold more than can be": {
			users: []allot.Holding{{Usage: resources.Vector{1 << 62}, Demand: one}}, cause: resources.ErrQuantity, text: "for user 0: demand kind0=1 plus",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.users == nil {
				tt.users = users
			}
			got, err := allot.Preempt(resources.Vector{8}, tt.users, tt.user)
			require.ErrorIs(t, err, tt.cause)
			require.ErrorContains(t, err, "allot: preempt")
			require.ErrorContains(t, err, tt.text)
			require.Zero(t, got)
		})
	}
}

func TestVerdict_Reads(t *testing.T) {
	for v := allot.Yields; v <= allot.NoneOver; v++ {
		require.NotEqual(t, allot.Verdict(0).String(), v.String())
	}
}
