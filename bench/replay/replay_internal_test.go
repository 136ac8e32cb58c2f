package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
)

func replayed(t *testing.T, args ...string) result {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(append(args, "-json"), &out, io.Discard))
	var res result
	require.NoError(t, json.Unmarshal(out.Bytes(), &res))
	res.Seconds, res.PerSecond = 0, 0
	return res
}

// text puts a trace into a file.
func text(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.csv")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func mixed(more ...string) []string {
	return append([]string{"-trace", "testdata/mixed.csv", "-nodes", "testdata/nodes.csv"}, more...)
}

// With any order and placement, all that was submitted ends, the cell is
// empty (or the replay would have failed) and a second run gives the same.
func TestReplay_EndsEverythingAndRepeats(t *testing.T) {
	for _, order := range []string{"drf", "fifo", "priority", "pools"} {
		for _, place := range []string{"next", "first", "best", "worst", "best-of"} {
			for _, wait := range []string{"", "2s", "1s,3s"} {
				args := mixed("-order", order, "-place", place, "-wait", wait, "-sample", "1s", "-users", "testdata/users.csv")
				res := replayed(t, args...)
				require.Equal(t, 5, res.JobsEnded)
				require.Equal(t, 59, res.Ended)
				require.Equal(t, 54, res.Locality[0]+res.Locality[1]+res.Locality[2])
				require.Equal(t, res, replayed(t, args...), "%q", args)
			}
		}
	}
}

// NSDI 2011, section 4.1: 9 CPUs and 18 GB. A gets 3 tasks of 1 CPU and 4 GB, B
// 2 tasks of 3 CPUs and 1 GB, a dominant share of 2/3 each. First come, first
// served, A takes as much memory as there is.
func TestReplay_DRFEvensDominantShares(t *testing.T) {
	args := []string{"-trace", "testdata/nsdi.csv", "-machines", "1", "-size", "cpu=9,memory=18Gi", "-sample", "50s", "-order"}
	res := replayed(t, append(args, "drf")...)
	require.Equal(t, map[string]float64{"A": 12.0 / 18, "B": 6.0 / 9}, res.Samples[1].Shares)
	require.Equal(t, 50.0, res.Samples[1].At)
	require.Equal(t, map[string]float64{"cpu": 1, "memory": 14.0 / 18, "gpu": 0}["cpu"], res.Samples[1].Used["cpu"])

	res = replayed(t, append(args, "fifo")...)
	require.Equal(t, map[string]float64{"A": 16.0 / 18, "B": 3.0 / 9}, res.Samples[1].Shares)
}

// Shares are of the present allocations: ada, the user that was added first, is not
// behind for those she had before.
func TestReplay_EndedTasksDoNotCountInDRF(t *testing.T) {
	path := text(t, "job,user,submit_s,tasks,duration_s,cpu", "a,ada,0,5,1,1", "b,grace,10,1,10,5", "c,ada,10,1,10,5")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=5", "-sample", "15s")
	require.Equal(t, map[string]float64{"ada": 1}, res.Samples[1].Shares)
}

func TestReplay_WeightsCountInDRF(t *testing.T) {
	path := text(t, "job,user,submit_s,tasks,duration_s,cpu", "a,ada,0,20,10,1", "g,grace,0,20,10,1")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=9", "-users", "testdata/users.csv", "-sample", "5s")
	require.Equal(t, map[string]float64{"ada": 3.0 / 9, "grace": 6.0 / 9}, res.Samples[1].Shares)
}

// One slot: the task that comes last is the most important.
func TestReplay_PriorityGoesFirst(t *testing.T) {
	path := text(t, "job,user,priority,submit_s,tasks,duration_s,cpu", "first,a,0,0,2,10,1", "second,b,0,1,1,10,1", "third,c,7,2,1,10,1")
	wait := func(order string) (mean float64) {
		return replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=1", "-order", order).JobWait.Mean
	}
	require.InDelta(t, (0+19+28)/3.0, wait("fifo"), 1e-9)
	// The third goes at 10, the first job's second task at 20, the second at 30.
	require.InDelta(t, (0+29+8)/3.0, wait("priority"), 1e-9)
}

// A task that does not fit keeps no job with a smaller need waiting, wherever in the
// order that is.
func TestReplay_PassesOverTasksThatDoNotFit(t *testing.T) {
	path := text(t, "job,priority,submit_s,tasks,duration_s,cpu", "small,0,0,1,10,1", "first,9,0,1,10,3", "second,5,0,1,10,3", "third,4,0,1,10,3")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=4", "-order", "priority")
	require.InDelta(t, (10+20)/4.0, res.JobWait.Mean, 1e-6)
}

// The node with the data is taken for 10 seconds; n1 is in its rack, n2 is not.
func TestReplay_WaitsForItsData(t *testing.T) {
	nodes := filepath.Join(t.TempDir(), "nodes.csv")
	require.NoError(t, os.WriteFile(nodes, []byte("name,rack,cpu\nn0,r0,1\nn1,r0,1\nn2,r1,1\n"), 0o600))
	head := "job,submit_s,tasks,duration_s,cpu,places"
	inRack := text(t, head, "busy,0,1,10,1,n0", "wants,1,1,1,1,n0")
	elsewhere := text(t, head, "busy,0,1,10,1,n0", "rack,0,1,100,1,n1", "wants,1,1,1,1,n0")
	for name, tt := range map[string]struct {
		path, wait string
		mean       float64 // of all tasks, of which others start at once
		tasks      float64
		locality   [3]int
	}{
		"no wait takes the rack":          {inRack, "", 0, 2, [3]int{1, 1}},
		"waits, then takes the rack":      {inRack, "4s", 4, 2, [3]int{1, 1}},
		"gets the node when it is free":   {inRack, "20s", 9, 2, [3]int{2}},
		"no wait takes what there is":     {elsewhere, "", 0, 3, [3]int{2, 0, 1}},
		"waits for both, then takes any":  {elsewhere, "2s,3s", 5, 3, [3]int{2, 0, 1}},
		"gets the node before rack opens": {elsewhere, "20s,20s", 9, 3, [3]int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			res := replayed(t, "-trace", tt.path, "-nodes", nodes, "-order", "fifo", "-place", "best", "-wait", tt.wait)
			require.Equal(t, tt.locality, res.Locality)
			require.InDelta(t, tt.mean/tt.tasks, res.TaskWait.Mean, 1e-6)
		})
	}
}

func TestReplay_StagesFollowEachOther(t *testing.T) {
	path := text(t, "job,submit_s,stage,tasks,duration_s,cpu", "a,5,0,2,10,1", "a,,0,1,4,1", "a,,2,1,7,1")
	res := replayed(t, "-trace", path, "-machines", "1", "-size", "cpu=9")
	require.Equal(t, 17.0, res.Span)
	require.InDelta(t, (2*10+4+7)/(9*17.0), res.Utilisation["cpu"], 1e-12)
	require.Equal(t, 0.0, res.TaskWait.Mean)
}

func TestReplay_ModelsAreKept(t *testing.T) {
	// Of such tasks two fit on a big machine and one on a small one: there are
	// two and three of these.
	head := "job,submit_s,tasks,duration_s,cpu,models"
	span := func(lines ...string) float64 {
		return replayed(t, "-trace", text(t, append([]string{head}, lines...)...), "-nodes", "testdata/nodes.csv").Span
	}
	require.Equal(t, 10.0, span("a,0,6,10,3,"))
	require.Equal(t, 20.0, span("a,0,6,10,3,big|huge"))
	require.Equal(t, 10.0, span("a,0,4,10,3,big", "a,,3,10,3,small"))

	// A big machine on which nothing fits keeps no job from the small ones.
	require.Equal(t, 15.0, span("a,0,2,10,8,big", "b,0,1,5,3,big", "c,0,3,15,3,"))
}

func TestReplay_RefusesBadInput(t *testing.T) {
	head := "job,user,submit_s,tasks,duration_s,cpu,models"
	large := text(t, head, "a,u,0,1,1,1,", "b,u,0,1,1,9,")
	for name, tt := range map[string]struct {
		args []string
		want string
		is   error
	}{
		"larger than any machine": {
			[]string{"-trace", large, "-machines", "2"},
			large + `:3:11: a task of job "b" needs cpu=9: no machine has that, want at most what one has, of each kind cpu=8,memory=32Gi or less: too large for the cell`, errTooLarge,
		},
		"larger than its models": {
			[]string{"-trace", text(t, head, "a,u,0,1,1,5,small"), "-nodes", "testdata/nodes.csv"},
			`:2:11: a task of job "a" needs cpu=5: machines of models "small": no machine has that`, errTooLarge,
		},
		"no such model": {
			[]string{"-trace", text(t, head, "a,u,0,1,1,5,blue"), "-nodes", "testdata/nodes.csv"},
			`:2:13: a task of job "a" needs cpu=5: machines of models "blue": no machine is of one of its models: too large for the cell`, errTooLarge,
		},
		"long names": {
			[]string{"-trace", text(t, head, strings.Repeat("j", 9000)+",u,0,1,1,5,"+strings.Repeat("m", 9000)), "-machines", "1"},
			`:2:9012: a task of job "` + strings.Repeat("j", 64) + `…" needs cpu=5: machines of models "` + strings.Repeat("m", 64) + `…": no machine is`, errTooLarge,
		},
		"too many tasks": {
			[]string{"-trace", text(t, head, "a,u,0,2147483647,1,1,"), "-machines", "1"},
			`:2:7: job "a" has 2147483647 tasks up to here, want 16777216 or fewer: too large for the cell`, errTooLarge,
		},
		"no machines": {[]string{"-trace", large}, `machines 0, want 1 or more, or -nodes`, nil},
		"a list of none": {
			[]string{"-trace", large, "-nodes", text(t, "name,cpu")}, `trace.csv:2:1: the end, want a machine: the file was cut`, trace.ErrCut,
		},
		"a machine twice": {
			[]string{"-trace", large, "-nodes", text(t, "name,cpu", "n,1", "m,1", "n,1")},
			`trace.csv:4:1: machine "n", want each once: it is on line 2, too: invalid value`, trace.ErrValue,
		},
		"a machine of nothing": {
			[]string{"-trace", large, "-nodes", text(t, "name,cpu", "n,1", "m,0")},
			`trace.csv:3:3: machine "m" has nothing, want some of a kind: invalid value`, trace.ErrValue,
		},
		"too many places": {
			[]string{"-trace", text(t, "job,submit_s,tasks,duration_s,cpu,input", "a,0,9000000,1,1,f"), "-machines", "100", "-replicas", "30"},
			`:2:17: job "a" has data in 270000000 places up to here, want 268435456 or fewer: too large for the cell`, errTooLarge,
		},
		"too long": {
			[]string{"-trace", text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,2,9000000000,1"), "-machines", "1", "-size", "cpu=1"},
			`:2:7: a task of job "a" that starts at 2500000h0m0s would end 2500000h0m0s later, want all to end within 2562047h47m16.854775807s of the first submission: invalid value`, trace.ErrValue,
		},
		"no jobs":           {[]string{"-trace", text(t, head), "-machines", "1"}, `trace.csv:2:1: the end, want a job: the file was cut`, trace.ErrCut},
		"no jobs, swim":     {[]string{"-format", "swim", "-trace", os.DevNull, "-machines", "1"}, os.DevNull + `:1:1: the end, want a job`, trace.ErrCut},
		"no jobs, rumen":    {[]string{"-format", "rumen", "-trace", os.DevNull, "-machines", "1"}, os.DevNull + `:1:1: the end, want a job with tasks that ran`, trace.ErrCut},
		"rumen from a pipe": {[]string{"-format", "rumen", "-trace", os.DevNull}, `not a regular file, and its machines and its jobs are read one after the other: want -machines or -nodes`, nil},
		"weights of others": {mixed("-users", "testdata/users.csv", "-by", "class"), `by "class" with a table of users, whose weights are of users: want -by user, or no -users`, nil},
		"all of some jobs": {
			[]string{"-trace", text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,9000000,1,1", "a,,9000000,1,1"), "-machines", "1"},
			`:3:4: job "a" has 18000000 tasks up to here, want 16777216 or fewer: too large for the cell`, errTooLarge,
		},
		"of each kind enough": {
			[]string{"-trace", text(t, "job,submit_s,tasks,duration_s,memory,cpu", "a,0,1,1,32Gi,1"), "-nodes", text(t, "name,cpu,memory", "n,1,1Gi", "m,0,64Gi")},
			`:2:14: a task of job "a" needs cpu=1,memory=32Gi: no machine has that`, errTooLarge,
		},
		"machines of nothing": {[]string{"-trace", large, "-machines", "2", "-size", "0"}, `size "0", want some of a kind`, nil},
		"tasks of nothing":    {mixed("-task", "cpu=0"), `task "cpu=0", want some of a kind`, nil},
		"two fleets":          {mixed("-machines", "3"), `machines 3 and nodes "testdata/nodes.csv", want one of the two`, nil},
		"replicas":            {mixed("-replicas", "101"), `replicas 101, want 100 or fewer`, nil},
		"compress":            {mixed("-compress", "0"), `compress 0, want 1 or more`, nil},
		"user not in list":    {mixed("-users", text(t, "user,weight", "ada,1", "alan,1")), `testdata/mixed.csv:4:5: job "web" of user "grace", want one of the 2 in the table of users`, trace.ErrUser},
		"cut": {
			[]string{"-trace", text(t, head, "a,u,0,1,1,1,", "b,u"), "-machines", "1"}, `:3:4: 2 fields, want 7`, trace.ErrColumns,
		},
		"out of order": {
			[]string{"-trace", text(t, head, "a,u,9,1,1,1,", "b,u,9,1,1,1,", "c,u,1,1,1,1,"), "-machines", "1", "-window", "1"}, `:4:5: job "c" was submitted at 1s`, trace.ErrOrder,
		},
		"no trace":         {nil, `no trace, want -trace FILE`, nil},
		"no such file":     {[]string{"-trace", "none.csv", "-machines", "1"}, `none.csv`, os.ErrNotExist},
		"order":            {mixed("-order", "lifo"), `order "lifo", want drf, fifo, priority or pools`, nil},
		"place":            {mixed("-place", "any"), `place "any", want next, first, best, worst or best-of`, nil},
		"wait":             {mixed("-wait", "5"), `wait "5", want durations of 0 or more, such as 5s or 5s,10s`, nil},
		"three waits":      {mixed("-wait", "5s,1s,1s"), `want one for a node and one for a rack`, nil},
		"by":               {mixed("-by", "queue"), `by "queue", want user, class or job`, nil},
		"format":           {mixed("-format", "google"), `"google"`, nil},
		"negative":         {mixed("-spread", "-1"), `spread -1, want 0 or more`, nil},
		"size":             {mixed("-size", "cpu=x"), `size: `, nil},
		"argument":         {mixed("more"), `argument "more", want flags only`, nil},
		"rumen, no places": {[]string{"-format", "rumen", "-trace", text(t, `{"jobID": "j", "submitTime": 4, "mapTasks": [{"attempts": [{"startTime": 1, "finishTime": 2}]}]}`), "-size", "cpu=1"}, `no job names a place, want -machines or -nodes`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "out.json")
			require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
			var out bytes.Buffer
			err := run(append([]string{"-o", file}, tt.args...), &out, io.Discard)
			require.ErrorContains(t, err, tt.want)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			require.Empty(t, out.String())
			old, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, "old", string(old))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}

func TestReplay_CountsPlacesOnNoMachine(t *testing.T) {
	path := text(t, "job,submit_s,tasks,duration_s,cpu,places", "a,0,2,1,1,m0;nowhere;r/never", "b,0,1,1,1,nowhere")
	res := replayed(t, "-trace", path, "-machines", "2")
	require.Equal(t, 3, res.Unknown)
	require.Equal(t, [3]int{2}, res.Locality)
}

func TestReplay_LeavesOutTasksThatAreTooLarge(t *testing.T) {
	path := text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,1,1,1", "b,0,1,1,9", "c,1,1,1,2")
	res := replayed(t, "-trace", path, "-machines", "2", "-leave-out")
	require.Equal(t, 1, res.LeftOut)
	require.Equal(t, 2, res.JobsEnded)
}

func TestOutput_LeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	failed := errors.New("failed")
	o, err := newOutput(path)
	require.NoError(t, err)
	err = o.write(func(w io.Writer) error {
		fmt.Fprint(w, "half of it")
		return failed
	})
	require.ErrorIs(t, err, failed)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, o.write(func(w io.Writer) error { _, err := io.WriteString(w, "all"); return err }))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "all", string(got))
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestReplay_PrintsATable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(mixed("-order", "fifo"), &out, io.Discard))
	for _, want := range []string{
		"machines              5\n", "jobs, tasks           5, 59\n", "job wait ", "task wait ", "locality of 54 tasks ",
		"utilisation, cpu ", "decisions ", "grace ", "alan ",
	} {
		require.Contains(t, out.String(), want)
	}
}

func TestSamples_AreBounded(t *testing.T) {
	path := text(t, "job,submit_s,tasks,duration_s,cpu", "a,0,1,100000,1")
	res := replayed(t, "-trace", path, "-machines", "1", "-sample", "1s")
	require.Less(t, len(res.Samples), 2*maxSamples)
	require.GreaterOrEqual(t, len(res.Samples), maxSamples)
	step := res.Samples[1].At
	for i, s := range res.Samples {
		require.Equal(t, float64(i)*step, s.At)
	}
}

func TestBar_IsForTerminals(t *testing.T) {
	require.Nil(t, newBar(io.Discard, 10, func() int64 { return 5 }))
	require.Equal(t, "[####################....................]  50 %, 7 jobs", line(5, 10, 7))
	require.Equal(t, "[########################################] 100 %, 7 jobs", line(11, 10, 7))
	require.Equal(t, "7 jobs", line(5, 0, 7)) // of a pipe
}

func TestBar_DrawsTenTimesASecondAndGoesAway(t *testing.T) {
	var out strings.Builder
	b := bar{w: &out, size: 10, read: func() int64 { return 5 }}
	b.clear()
	require.Empty(t, out.String())
	at := origin()
	for range 21 { // 0 to 1 s
		b.draw(at, 7)
		at = at.Add(50 * time.Millisecond)
	}
	require.Equal(t, strings.Repeat("\r"+line(5, 10, 7), 11), out.String())
	out.Reset()
	b.clear()
	require.Equal(t, "\r"+strings.Repeat(" ", len(line(5, 10, 7)))+"\r", out.String())
}
