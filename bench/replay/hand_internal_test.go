package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// One task of 1 core takes the small machine or the large one until 10 s. A second
// later another task needs the large one as a whole.
func TestPlace_PicksTheMachineThatItSays(t *testing.T) {
	nodes := text(t, "name,cpu", "small,2", "large,8")
	path := text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,1,10,1", "b,1,1,10,8")
	for place, wait := range map[string]float64{"best": 0, "best-of": 0, "worst": 9} {
		res := replayed(t, "-trace", path, "-nodes", nodes, "-place", place)
		require.InDelta(t, wait/2, res.JobWait.Mean, 1e-9, place)
	}
}

// Of eight draws one finds the machine that best fit takes.
func TestPlace_BestOfDrawsManyTimes(t *testing.T) {
	nodes := text(t, "name,cpu", "large,8", "small,2")
	lines := []string{"job,submit_s,tasks,duration_s,cpu"}
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("a,%d,1,5,1", 20*i), fmt.Sprintf("b,%d,1,5,8", 20*i+1))
	}
	for _, seed := range []string{"1", "2"} {
		res := replayed(t, "-trace", text(t, lines...), "-nodes", nodes, "-place", "best-of", "-seed", seed)
		require.InDelta(t, 0, res.JobWait.Mean, 0.2) // 2 s if half of the first were in the way
	}
}

// Two tasks are on the same machine by next fit and on two by first fit, which
// begins one further each time; then another task needs a whole one.
func TestPlace_NextFitStaysAndFirstFitGoesOn(t *testing.T) {
	path := text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,1,10,1", "b,1,1,10,1", "c,2,1,10,2")
	for place, wait := range map[string]float64{"next": 0, "first": 8} {
		res := replayed(t, "-trace", path, "-machines", "2", "-size", "cpu=2", "-place", place)
		require.InDelta(t, wait/3, res.JobWait.Mean, 1e-9, place)
	}
}

// 4 cores for 20 s: ada has 2 for the first half, grace 3 for the second, in two
// classes of which ada is in both.
func TestSharers_AreMeasuredOverTheWholeSpan(t *testing.T) {
	path := text(t, "job,user,class,submit_s,tasks,duration_s,cpu", "a,ada,x,0,2,10,1", "g,grace,y,10,1,10,3", "b,ada,y,20,1,0,1")
	for _, order := range []string{"drf", "fifo", "priority", "pools"} {
		args := []string{"-trace", path, "-machines", "1", "-size", "cpu=4", "-order", order}
		res := replayed(t, args...)
		require.Equal(t, []sharing{{"grace", 1, 0.375, 0.75}, {"ada", 3, 0.25, 0.5}}, res.Sharers)
		require.InDelta(t, (2*10+3*10)/(4*20.0), res.Utilisation["cpu"], 1e-12)
		res = replayed(t, append(args, "-by", "class")...)
		require.Equal(t, []sharing{{"y", 2, 0.375, 0.75}, {"x", 2, 0.25, 0.5}}, res.Sharers)
		res = replayed(t, append(args, "-by", "job")...)
		require.Equal(t, []sharing{{"g", 1, 0.375, 0.75}, {"a", 2, 0.25, 0.5}, {"b", 1, 0, 0.25}}, res.Sharers)
	}
}

// Two jobs wait for the same node, each for 4 s from when it comes, although n1
// and n2 are free.
func TestReplay_EachWaitEndsWhenItsTimeIsUp(t *testing.T) {
	nodes := text(t, "name,rack,cpu", "n0,r0,1", "n1,r1,1", "n2,r2,1")
	path := text(t, "job,submit_s,tasks,duration_s,cpu,places", "x,0,1,100,1,n0", "a,1,1,1,1,n0", "b,2,1,1,1,n0")
	res := replayed(t, "-trace", path, "-nodes", nodes, "-order", "fifo", "-wait", "4s,0s")
	require.InDelta(t, (4+4)/3.0, res.JobWait.Mean, 1e-9)
	require.Equal(t, [3]int{1, 0, 2}, res.Locality)
}

// A cell that is full for all present jobs may have room for a later one.
func TestReplay_ACellThatIsFullHasRoomForLess(t *testing.T) {
	path := text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,2,10,3", "b,1,1,1,1")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=4")
	require.InDelta(t, 10/3.0, res.TaskWait.Mean, 1e-9)
}

// Tasks that differ in their durations and in the places of their data are each
// started once. Together they take 1 + 10 + 100 s, and each is on its node.
func TestReplay_StartsEachTaskOnce(t *testing.T) {
	nodes := text(t, "name,rack,cpu", "n0,r0,1", "n1,r1,1", "n2,r2,1")
	path := text(t, "job,submit_s,tasks,duration_s,cpu,places", "a,0,1,1,1,n2", "a,,1,10,1,n1", "a,,1,100,1,n0")
	res := replayed(t, "-trace", path, "-nodes", nodes)
	require.InDelta(t, (1+10+100)/(3*100.0), res.Utilisation["cpu"], 1e-12)
	require.Equal(t, [3]int{3}, res.Locality)
}

// That a task has been started twice, and another one never, is found out.
func TestNear_AllAreTakenOnce(t *testing.T) {
	for name, tasks := range map[string][]int{"all": {2, 0, 1}, "twice": {2, 0, 2}, "few": {2, 0}} {
		n := near{taken: make([]uint64, 1), begin: make([]int32, 4)}
		for _, task := range tasks {
			n.take(task)
		}
		require.Equal(t, name == "all", n.all(), name)
	}
}

// The largest sizes are those that no other is as large as, in any order.
func TestFrontier_KeepsTheLargest(t *testing.T) {
	sizes := []resources.Vector{{4, 8}, {8, 2}, {4, 4}, {8, 2}, {1, 9}, {2, 1}}
	want := []resources.Vector{{4, 8}, {8, 2}, {1, 9}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		r.Shuffle(len(sizes), func(i, k int) { sizes[i], sizes[k] = sizes[k], sizes[i] })
		var got []resources.Vector
		for _, s := range sizes {
			got = frontier(got, s)
		}
		require.ElementsMatch(t, want, got)
	}
	nodes := text(t, "name,cpu,memory", "a,4,8Gi", "b,8,2Gi", "c,1,1Gi")
	fits := text(t, "job,submit_s,tasks,duration_s,cpu,memory", "a,0,1,1,8,2Gi", "b,0,1,1,4,8Gi")
	require.Equal(t, 2, replayed(t, "-trace", fits, "-nodes", nodes).Ended)
	both := text(t, "job,submit_s,tasks,duration_s,cpu,memory", "a,0,1,1,8,8Gi", "b,0,1,1,1,1Gi")
	require.Equal(t, 1, replayed(t, "-trace", both, "-nodes", nodes, "-leave-out").LeftOut)
}

// A decision is the placement of a task.
func TestResult_CountsDecisionsByTask(t *testing.T) {
	r := result{Jobs: 2, Tasks: 10}
	r.timed(2 * time.Second)
	require.Equal(t, 5.0, r.PerSecond)
	require.Equal(t, 2.0, r.Seconds)
}
