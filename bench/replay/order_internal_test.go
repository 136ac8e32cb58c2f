package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// A job is in the pool of its class, not in that of its user's earlier job. At 10 s the
// pools A and B have half of the cell each. In A it is cat alone, in B ada and bob.
func TestPools_GoByTheClassOfTheJob(t *testing.T) {
	path := text(t, "job,user,class,submit_s,tasks,duration_s,cpu",
		"a0,ada,A,0,1,1,1", "b0,bob,B,0,1,1,1", "a1,ada,B,10,40,1,1", "c1,cat,A,10,40,1,1", "b1,bob,B,10,40,1,1")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=4", "-order", "pools", "-sample", "10500ms")
	require.Equal(t, map[string]float64{"ada": 0.25, "bob": 0.25, "cat": 0.5}, res.Samples[1].Shares)
}

// Ended tasks do not count, and weights do, within a pool as well.
func TestPools_CreditAndWeights(t *testing.T) {
	path := text(t, "job,user,submit_s,tasks,duration_s,cpu", "a,ada,0,9,1,1", "b,ada,10,20,10,1", "c,grace,10,20,10,1")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=9", "-order", "pools", "-users", "testdata/users.csv", "-sample", "15s")
	require.Equal(t, map[string]float64{"ada": 3.0 / 9, "grace": 6.0 / 9}, res.Samples[1].Shares)
}

// A job that leaves a queue from before where it stopped moves the others up:
// no job is passed over that has not been asked.
func TestQueue_AsksEachOnceARound(t *testing.T) {
	var q queue
	jobs := make([]*job, 4)
	for i := range jobs {
		jobs[i] = &job{seq: i}
		require.NoError(t, q.push(jobs[i]))
	}
	asked := 0
	require.Same(t, jobs[2], q.next(func(j *job) bool { asked++; return j.seq == 2 }))
	require.NoError(t, q.drop(jobs[0]))
	require.Same(t, jobs[2], q.next(func(*job) bool { asked++; return true }))
	require.Equal(t, 4, asked)
	require.True(t, q.asked)
	require.NoError(t, q.drop(jobs[2]))
	require.Same(t, jobs[3], q.next(func(*job) bool { return true }))
	q.begin()
	require.False(t, q.asked)
	require.Same(t, jobs[1], q.next(func(*job) bool { return true }))
}

// In a full cell, only those needs that failed are remembered in
// which no other one fits.
func TestSearch_KeepsTheLeastNeedsThatFailed(t *testing.T) {
	r := &replay{least: resources.Vector{1, 1}}
	for _, need := range []resources.Vector{{4, 4}, {3, 5}, {3, 4}, {9, 2}, {3, 3}} {
		r.fail(&bundle{need: need})
	}
	require.Equal(t, []resources.Vector{{9, 2}, {3, 3}}, r.failed)
	r.fail(&bundle{need: resources.Vector{1}, models: []bool{true}})
	require.Len(t, r.failed, 2)
	require.False(t, r.full)
	r.fail(&bundle{need: resources.Vector{1, 1}})
	require.True(t, r.full)
}

// Tasks of many sorts are sorted in one pass, and sorts keep the order of lines.
func TestBundles_AreBySort(t *testing.T) {
	r := located(t, config{replicas: 1, machines: []trace.Machine{{Name: "n"}}})
	work := []trace.Tasks{
		{Count: 2, Need: resources.Vector{1}},
		{Count: 3, Need: resources.Vector{1}, Input: "f"},
		{Count: 4, Need: resources.Vector{1}, Places: []trace.Place{{Node: "nowhere"}}, Duration: time.Second},
		{Count: 5, Need: resources.Vector{1}, Places: []trace.Place{{Node: "n"}}},
		{Count: 6, Need: resources.Vector{1}, Models: []string{"a"}},
		{Count: 7, Need: resources.Vector{2}},
		{Count: 8, Need: resources.Vector{2}, Stage: 1},
	}
	all, rest := bundles(&r.sites, work)
	var got strings.Builder
	for _, b := range all {
		fmt.Fprint(&got, b.tasks, b.left, b.first, " ")
	}
	require.Equal(t, "6 6 [0 2] 8 8 [0 3] 6 6 [0] 7 7 [0] ", got.String())
	require.Len(t, rest, 1)
}

// A task that prefers no place does not wait behind one of its job that does. Only
// the first waits: its node is taken until 50 s.
func TestReplay_AJobWithoutPreferencesDoesNotWaitForData(t *testing.T) {
	nodes := text(t, "name,rack,cpu", "n1,r1,1", "n2,r2,1")
	for _, place := range []string{"", "r9/n9"} { // on no machine is nowhere
		path := text(t, "job,user,submit_s,tasks,duration_s,cpu,places", "x,u,0,1,50,1,n1", "b,u,1,1,10,1,r1/n1", "b,u,1,1,10,1,"+place)
		res := replayed(t, "-trace", path, "-nodes", nodes, "-order", "fifo", "-wait", "100s")
		require.InDelta(t, 49.0/3, res.TaskWait.Mean, 1e-6)
	}
}
