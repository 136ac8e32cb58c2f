package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/delay/late/trial"
)

func TestRun_NamesRefusedArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.json")
	const idle = `{"jobID":"idle","submitTime":1,"mapTasks":[],"reduceTasks":[]}` + "\n"
	require.NoError(t, os.WriteFile(file, []byte(idle), 0o600))
	for text, args := range map[string][]string{
		"0 seeds, want 1 or more":                  {"-seeds", "0"},
		`argument "30", want flags only`:           {"30"},
		"no such file":                             {"-trace", file + ".gz"},
		`format "hive", want rumen, swim or csv`:   {"-trace", file, "-format", "hive"},
		"want a job with tasks that ran":           {"-trace", file},
		"flag provided but not defined: -policies": {"-policies", "all"},
	} {
		require.ErrorContains(t, run(args, io.Discard, io.Discard), text)
	}
}

func TestCompare_PrintsALineForEachPolicy(t *testing.T) {
	work := []time.Duration{2 * time.Minute, 2 * time.Minute}
	small := scenario{"small", func(uint64) trial.Setup {
		return trial.Setup{Slots: 1, Speeds: [][]float64{{1}, {0.5}}, Jobs: []trial.Load{{Stages: []trial.Stage{{Work: work}}}}}
	}}
	var out strings.Builder
	require.NoError(t, compare(&out, []scenario{small}, 2))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 1+len(policies()))
	require.Equal(t, []string{"small", "none", "240", "1.00", "1.00", "1.00", "0", "0", "0.0"}, strings.Fields(lines[1]))

	small.trial = func(uint64) trial.Setup { return trial.Setup{} }
	require.ErrorContains(t, compare(&out, []scenario{small}, 1), "small, none: trial: 0 nodes")
}

func TestMixed_HasNodesOfFourSpeeds(t *testing.T) {
	classes := map[float64]int{}
	for _, minutes := range mixed()[0].trial(1).Speeds {
		lowest, highest := minutes[0], minutes[0]
		for _, s := range minutes {
			lowest, highest = min(lowest, s), max(highest, s)
		}
		for _, class := range []float64{1, 0.7, 0.4, 0.2} {
			if lowest >= 0.8*class && highest <= 1.2*class && lowest < 0.85*class && highest > 1.15*class {
				classes[class]++
			}
		}
	}
	require.Equal(t, map[float64]int{1: 120, 0.7: 50, 0.4: 20, 0.2: 10}, classes)
}

// One seed of each scenario with one job; the command runs the others too.
func TestMixed_LATEIsFasterThanNoCopies(t *testing.T) {
	for _, s := range mixed() {
		setup := s.trial(0)
		if len(setup.Jobs) > 1 {
			continue
		}
		none, err := setup.Run(late.Policy{Rule: late.Never})
		require.NoError(t, err)
		o, err := setup.Run(late.Policy{})
		require.NoError(t, err)
		require.Less(t, o.Mean(), none.Mean()*9/10, s.name)
	}
}

func TestLoads_AreStagesByNumberAndJobsByTime(t *testing.T) {
	const csv = "job,submit_s,stage,tasks,duration_s,cpu\n" +
		"b,12,0,2,3,1\n" +
		"b,,1,1,5,1\n" +
		"a,10,0,1,4,1\n"
	got, err := loads(trace.CSV("jobs.csv", strings.NewReader(csv), trace.Space()))
	require.NoError(t, err)
	second := time.Second
	require.Equal(t, []trial.Load{
		{Stages: []trial.Stage{{Work: []time.Duration{4 * second}}}},
		{Submit: 2 * second, Stages: []trial.Stage{{Work: []time.Duration{3 * second, 3 * second}}, {Work: []time.Duration{5 * second}}}},
	}, got)

	_, err = loads(func(func(trace.Job, error) bool) {})
	require.EqualError(t, err, "no job in the trace, want 1 or more")

	setup := redrawn(trial.Setup{Jobs: got}, 1)
	require.Nil(t, got[1].Stages[0].Again, "the setup's own jobs stay as they are")
	require.Equal(t, setup.Jobs[1].Stages[0].Work, setup.Jobs[1].Stages[0].Again)
	require.Equal(t, got[0].Submit, setup.Jobs[0].Submit)
}

// A copy that starts later and takes as long never wins; one with a length of
// its own does.
func TestRecorded_Rumen(t *testing.T) {
	scenarios, err := recorded(recordings.Find(t, "rumen-hadoop-2009/folder-input-trace.json.gz"), "rumen")
	require.NoError(t, err)
	require.Len(t, scenarios, 2)
	for i, s := range scenarios {
		setup := s.trial(1)
		require.Len(t, setup.Jobs, 59)
		none, err := setup.Run(late.Policy{Rule: late.Never})
		require.NoError(t, err)
		o, err := setup.Run(late.Policy{})
		require.NoError(t, err)
		require.Positive(t, o.Copies)
		if i == 0 {
			require.Zero(t, o.Won)
			require.Equal(t, none.Mean(), o.Mean())
			continue
		}
		require.Positive(t, o.Won)
		require.Less(t, o.Mean(), none.Mean()*95/100)
	}
}
