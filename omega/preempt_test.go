package omega_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// ranked registers a scheduler that may claim at precedences 0 to 9.
func ranked(t testing.TB, cell *omega.Cell, name string) *omega.Scheduler {
	t.Helper()
	s, err := cell.Register(name, omega.Limits{Highest: 9})
	require.NoError(t, err)
	return s
}

// held claims needs at a precedence, in order, and returns the allocations.
func held(t testing.TB, s *omega.Scheduler, m omega.MachineID, p omega.Precedence, needs ...resources.Vector) []omega.AllocationID {
	t.Helper()
	var got []omega.AllocationID
	for _, need := range needs {
		var tx omega.Txn
		require.Equal(t, 1, commit(t, s, &tx, omega.Claim{Machine: m, Need: need, Precedence: p}))
		a, _ := tx.Allocation(0)
		got = append(got, a)
	}
	return got
}

func TestVictims_AreTheLowestTheYoungestAndNoMoreThanNeeded(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10, 10})
	s := ranked(t, cell, "s")
	low := held(t, s, ids[0], 1, resources.Vector{2, 0}, resources.Vector{2, 0}, resources.Vector{0, 2})
	mid := held(t, s, ids[0], 2, resources.Vector{3, 1}, resources.Vector{2, 1})
	high := held(t, s, ids[0], 5, resources.Vector{1, 6})
	// Nothing of kind 0 is free, nothing of kind 1.
	tests := map[string]struct {
		need resources.Vector
		p    omega.Precedence
		want []omega.AllocationID
		ok   bool
	}{
		"the youngest of the lowest":      {resources.Vector{2}, 2, low[1:2], true},
		"both of the lowest":              {resources.Vector{3}, 2, []omega.AllocationID{low[1], low[0]}, true},
		"what does not help is spared":    {resources.Vector{0, 2}, 2, low[2:], true},
		"one of the next":                 {resources.Vector{6}, 3, []omega.AllocationID{low[1], low[0], mid[1]}, true},
		"a large one makes a small spare": {resources.Vector{0, 6}, 6, high, true},
		"strictly lower":                  {resources.Vector{9}, 2, nil, false},
		"equal is not lower":              {resources.Vector{0, 6}, 5, nil, false},
		"never":                           {resources.Vector{11}, 9, nil, false},
		"nothing is needed":               {resources.Vector{}, 0, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := cell.Victims(ids[0], tt.need, tt.p)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, got)
		})
	}
	none, ok := cell.Victims(ids[1], resources.Vector{1}, 9)
	require.True(t, ok)
	require.Empty(t, none)
	_, ok = cell.Victims(machineAt(cell, 77), resources.Vector{1}, 9)
	require.False(t, ok)
	require.NoError(t, cell.Drain(ids[0]))
	_, ok = cell.Victims(ids[0], resources.Vector{1}, 9)
	require.False(t, ok, "it takes no claims")
}

// What is proposed makes room, is all of lower precedence, and none of it can
// be left out.
func TestVictims_AreEnoughAndNecessary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{40, 40}}}})
		require.NoError(t, err)
		s, err := cell.Register("s", omega.Limits{Highest: 5})
		require.NoError(t, err)
		vector := func(label string) resources.Vector {
			return resources.Vector{rapid.Int64Range(0, 20).Draw(t, label), rapid.Int64Range(0, 20).Draw(t, label)}
		}
		for range rapid.IntRange(0, 12).Draw(t, "allocations") {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: machineAt(cell, 0), Need: some(vector("need")), Precedence: omega.Precedence(rapid.IntRange(0, 5).Draw(t, "precedence"))})
			_, err := s.Commit(&tx)
			require.NoError(t, err)
		}
		need, p := vector("need"), omega.Precedence(rapid.IntRange(0, 5).Draw(t, "precedence"))
		all := map[omega.AllocationID]omega.Allocation{}
		state, _ := cell.State(machineAt(cell, 0))
		most := state.Free
		for a := range cell.Allocations() {
			all[a.ID] = a
			if a.Precedence < p {
				most = most.Add(a.Need)
			}
		}
		victims, ok := cell.Victims(machineAt(cell, 0), need, p)
		require.Equal(t, need.Fits(most), ok)
		room := state.Free
		for _, v := range victims {
			require.Less(t, all[v].Precedence, p)
			room = room.Add(all[v].Need)
		}
		if ok {
			require.True(t, need.Fits(room))
		}
		for _, v := range victims {
			without, _ := room.Sub(all[v].Need)
			require.False(t, need.Fits(without), "%v is not needed", v)
		}
	})
}

func TestPreemption_ChangesHandsInOneStep(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	account := accountOf(cell, "tenant")
	var tx omega.Txn
	require.Equal(t, 1, commit(t, low, &tx, omega.Claim{Machine: ids[0], Account: account, Need: resources.Vector{10}}))
	victim, _ := tx.Allocation(0)

	now := time.Unix(100, 0)
	claim := omega.Claim{Machine: ids[0], Need: resources.Vector{3}, Precedence: 1, Victims: []omega.AllocationID{victim}}
	gang := omega.Txn{Gang: true, Now: now, Grace: time.Minute}
	gang.Claim(claim)
	gang.Claim(omega.Claim{Machine: ids[1], Need: resources.Vector{11}, Precedence: 1})
	granted, err := high.Commit(&gang)
	require.NoError(t, err)
	require.Zero(t, granted)
	require.Empty(t, slices.Collect(low.Marked()), "who is not granted preempts nobody")
	require.Zero(t, free(t, cell, ids[0]))

	preempting := omega.Txn{Now: now, Grace: time.Minute}
	preempting.Claim(claim)
	preempting.Claim(claim) // the second finds the victim gone
	granted, err = high.Commit(&preempting)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.ErrorIs(t, preempting.Err(1), omega.ErrReleased)
	require.EqualValues(t, 7, free(t, cell, ids[0]))
	require.Zero(t, low.Usage())
	used, err := cell.Usage(account)
	require.NoError(t, err)
	require.Zero(t, used)

	marks := slices.Collect(low.Marked())
	require.Equal(t, []omega.Mark{{
		Allocation: omega.Allocation{ID: victim, Machine: ids[0], Account: account, Scheduler: "low", Need: resources.Vector{10}},
		Fate:       omega.Preempted, By: "high", Until: now.Add(time.Minute),
	}}, marks)
	require.Equal(t, marks, slices.Collect(low.Marked()), "until it is released")
	require.ErrorIs(t, high.Release(victim), omega.ErrNotOwner)
	require.NoError(t, low.Release(victim))
	require.ErrorIs(t, low.Release(victim), omega.ErrReleased)
	require.Empty(t, slices.Collect(low.Marked()))
	require.EqualValues(t, 7, free(t, cell, ids[0]), "which gives nothing back twice")
	require.NoError(t, cell.Check())
}

// A grace that is all but endless ends in a hundred years, so that its end is a time
// that others can represent.
func TestPreemption_GraceEndsWithinACentury(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	now := time.Unix(1e9, 0).UTC()
	for grace, want := range map[time.Duration]time.Duration{
		omega.AtOnce: 0, time.Hour: time.Hour, century: century, century + 1: century, math.MaxInt64 - 1: century, math.MaxInt64: century,
	} {
		cell, ids := newCell(t, 1, resources.Vector{1})
		low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
		victim := held(t, low, ids[0], 0, resources.Vector{1})
		tx := omega.Txn{Now: now, Grace: grace}
		tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 1, Victims: victim})
		granted, err := high.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		a, _ := tx.Allocation(0)
		at, err := cell.ReadyAt(a)
		require.NoError(t, err)
		require.Equal(t, now.Add(want), at, "%v", grace)
		for m := range low.Marked() {
			require.Equal(t, now.Add(want), m.Until, "%v", grace)
		}
	}
}

func TestPreemption_RefusesWhatMakesNoSense(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{10})
	foreign, _ := newCell(t, 1, resources.Vector{10})
	s := ranked(t, cell, "s")
	here := held(t, s, ids[0], 3, resources.Vector{10})
	there := held(t, s, ids[1], 0, resources.Vector{1})
	abroad := held(t, ranked(t, foreign, "f"), machineAt(foreign, 0), 0, resources.Vector{1})
	stale := held(t, s, ids[1], 0, resources.Vector{1})
	require.NoError(t, s.Release(stale[0]))

	start := time.Unix(1, 0)
	for name, tt := range map[string]struct {
		now     time.Time
		grace   time.Duration
		victims []omega.AllocationID
		err     error
	}{
		"on another machine": {start, 1, there, omega.ErrVictim},
		"of another cell":    {start, 1, abroad, omega.ErrVictim},
		"named twice":        {start, 1, []omega.AllocationID{here[0], here[0]}, omega.ErrVictim},
		"negative grace":     {start, -2, here, omega.ErrGrace},
		"no grace":           {start, 0, here, omega.ErrGrace},
		"grace without now":  {time.Time{}, 1, here, omega.ErrGrace},
		"at once at no time": {time.Time{}, omega.AtOnce, here, omega.ErrGrace},
		"neither":            {time.Time{}, 0, here, omega.ErrGrace},
	} {
		t.Run(name, func(t *testing.T) {
			tx := omega.Txn{Now: tt.now, Grace: tt.grace}
			tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 9, Victims: tt.victims})
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, tt.err)
			require.Zero(t, free(t, cell, ids[0]))
		})
	}
	for name, tt := range map[string]struct {
		machine omega.MachineID
		p       omega.Precedence
		victim  omega.AllocationID
		err     error
	}{
		"of equal precedence":  {ids[0], 3, here[0], omega.ErrPrecedence},
		"of higher precedence": {ids[0], 2, here[0], omega.ErrPrecedence},
		"gone already":         {ids[1], 9, stale[0], omega.ErrReleased},
	} {
		t.Run(name, func(t *testing.T) {
			tx := omega.Txn{Now: start, Grace: omega.AtOnce}
			tx.Claim(omega.Claim{Machine: tt.machine, Need: resources.Vector{1}, Precedence: tt.p, Victims: []omega.AllocationID{tt.victim}})
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			require.Zero(t, granted)
			require.ErrorIs(t, tx.Err(0), tt.err)
			require.EqualValues(t, 9, free(t, cell, ids[1]))
		})
	}
	require.Empty(t, slices.Collect(s.Marked()))
	_, err := cell.ReadyAt(stale[0])
	require.ErrorIs(t, err, omega.ErrReleased)
	require.NoError(t, cell.Check())
}

// Marks wait for their reader, however late it comes, and are kept no longer
// than it takes: the list does not grow with all that ever was preempted.
func TestMarked_DropsNothingAndKeepsNothing(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{1000})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	preempt := func(a omega.AllocationID) {
		tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
		tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Precedence: 1, Victims: []omega.AllocationID{a}})
		granted, err := high.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		b, _ := tx.Allocation(0)
		require.NoError(t, high.Release(b))
	}
	var standing []omega.AllocationID
	for i := range 20_000 {
		a := held(t, low, ids[0], 0, resources.Vector{1})[0]
		preempt(a)
		if i%1000 == 0 {
			standing = append(standing, a)
		} else {
			require.NoError(t, low.Release(a))
		}
	}
	var seen []omega.AllocationID
	for m := range low.Marked() {
		seen = append(seen, m.Allocation.ID)
	}
	require.Equal(t, standing, seen, "in order, none missing")
	require.Less(t, omega.MarksKept(low), 300)

	// The successor of a dead scheduler finds them too, and lost ones beside them.
	lost := held(t, low, ids[0], 0, resources.Vector{1})[0]
	_, err := cell.Remove(ids[0])
	require.NoError(t, err)
	successor, err := cell.Replace("low")
	require.NoError(t, err)
	fates := map[omega.Fate]int{}
	for m := range successor.Marked() {
		fates[m.Fate]++
		require.NoError(t, successor.Release(m.Allocation.ID), "the loop body may release")
	}
	require.Equal(t, map[omega.Fate]int{omega.Preempted: len(standing), omega.Lost: 1}, fates)
	require.ErrorIs(t, successor.Release(lost), omega.ErrReleased)
	require.Equal(t, "preempted lost unknown fate", fmt.Sprint(omega.Preempted, " ", omega.Lost, " ", omega.Fate(9)))
}
