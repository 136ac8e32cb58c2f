package late_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// mixed has 40 nodes of two slots: 60 % have speed 1, 25 % 0.7, 10 % 0.4 and 5 %
// 0.2, drawn again within 20 % each minute. Jobs come every five minutes, with
// stages of so many tasks of two minutes.
func mixed(seed uint64, jobs int, stages ...int) late.Trial {
	random := rand.New(rand.NewPCG(seed, 2008))
	trial := late.Trial{Slots: 2, Period: time.Minute}
	for n := range 40 {
		speed := 1.0
		switch {
		case n < 2:
			speed = 0.2
		case n < 6:
			speed = 0.4
		case n < 16:
			speed = 0.7
		}
		minutes := make([]float64, 60)
		for m := range minutes {
			minutes[m] = speed * (0.8 + 0.4*random.Float64())
		}
		trial.Speeds = append(trial.Speeds, minutes)
	}
	random.Shuffle(40, func(i, j int) {
		trial.Speeds[i], trial.Speeds[j] = trial.Speeds[j], trial.Speeds[i]
	})
	for k := range jobs {
		load := late.Load{Submit: time.Duration(k) * 5 * time.Minute}
		for _, tasks := range stages {
			work := make([]time.Duration, tasks)
			for i := range work {
				work[i] = time.Duration((0.9 + 0.2*random.Float64()) * float64(2*time.Minute))
			}
			load.Stages = append(load.Stages, late.Stage{Work: work})
		}
		trial.Jobs = append(trial.Jobs, load)
	}
	return trial
}

func mean(t testing.TB, trial late.Trial, p late.Policy) float64 {
	t.Helper()
	o, err := trial.Run(p)
	require.NoError(t, err)
	return o.Mean().Seconds()
}

// bench/late runs more seeds, on five times as many nodes.
func TestTrial_LATEBesideNoCopiesAndHadoop(t *testing.T) {
	const seeds = 4
	stream, capped, wider := 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		trial := mixed(seed, 6, 160)
		none, hadoop, ours := mean(t, trial, late.Policy{Rule: late.Never}), mean(t, trial, late.Policy{Rule: late.Hadoop}), mean(t, trial, late.Policy{})
		require.LessOrEqual(t, ours, 0.8*none, "seed %d", seed)
		stream += ours / hadoop / seeds

		trial = mixed(seed, 1, 80, 72)
		none, ours = mean(t, trial, late.Policy{Rule: late.Never}), mean(t, trial, late.Policy{})
		require.LessOrEqual(t, ours, 0.6*none, "seed %d", seed)
		capped += ours / seeds
		wider += mean(t, trial, late.Policy{Cap: 0.2}) / seeds
	}
	require.LessOrEqual(t, stream, 0.85, "jobs one after the other: a slot that copies is wanted elsewhere")
	require.LessOrEqual(t, wider, 0.9*capped, "15 % of the nodes are slow, and 10 % of the slots may copy")
}

// One slot in ten is free from the start, on nodes of which nothing is known. A
// copy there may be on a node of a fifth of the speed, for good.
func TestTrial_TheFirstCopiesAreOnNodesThatAreKnown(t *testing.T) {
	for seed := range uint64(8) {
		trial := mixed(seed, 1, 72)
		require.LessOrEqual(t, mean(t, trial, late.Policy{}), 0.6*mean(t, trial, late.Policy{Rule: late.Never}), "seed %d", seed)
	}
}

func TestTrial_IsRepeatable(t *testing.T) {
	for _, p := range []late.Policy{{}, {Rule: late.Hadoop}, {Rule: late.Spark}, {Rule: late.MapReduce2}} {
		first, err := mixed(1, 1, 160).Run(p)
		require.NoError(t, err)
		second, err := mixed(1, 1, 160).Run(p)
		require.NoError(t, err)
		require.Equal(t, first, second)
		require.Positive(t, first.Copies)
		require.LessOrEqual(t, first.Won, first.Copies)
	}
}

func seconds(work ...int) []time.Duration {
	all := make([]time.Duration, len(work))
	for i, s := range work {
		all[i] = time.Duration(s) * time.Second
	}
	return all
}

// Two slots, two tasks of 90 s, the second on a node at a tenth of the speed:
// 900 s. A copy at 90 s, when the slot is free, ends at 180 s.
func TestTrial_ByHand(t *testing.T) {
	two := late.Stage{Work: seconds(90, 90)}
	tests := map[string]struct {
		stages []late.Stage
		submit time.Duration
		policy late.Policy
		want   late.Outcome
	}{
		"no copies": {
			stages: []late.Stage{two},
			policy: late.Policy{Rule: late.Never},
			want:   late.Outcome{Took: seconds(900)},
		},
		"a copy wins": {
			stages: []late.Stage{two},
			policy: late.Policy{SlowTask: 1},
			want:   late.Outcome{Took: seconds(180), Copies: 1, Won: 1, Wasted: 180 * time.Second},
		},
		"a copy takes longer than the task did": {
			stages: []late.Stage{{Work: seconds(90, 90), Again: seconds(90, 1000)}},
			policy: late.Policy{SlowTask: 1},
			want:   late.Outcome{Took: seconds(900), Copies: 1, Wasted: 810 * time.Second},
		},
		"stages follow one another": { // the slow slot is the one that is free then
			stages: []late.Stage{two, {Work: seconds(60)}, two},
			policy: late.Policy{Rule: late.Never},
			want:   late.Outcome{Took: seconds(900 + 600 + 900)},
		},
		"nothing to do before": {
			stages: []late.Stage{two},
			submit: 1000 * time.Hour,
			policy: late.Policy{Rule: late.Never},
			want:   late.Outcome{Took: seconds(900)},
		},
		"the next heartbeat": {
			stages: []late.Stage{two},
			submit: 1000*time.Hour - time.Second,
			policy: late.Policy{Rule: late.Never},
			want:   late.Outcome{Took: seconds(901)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			trial := late.Trial{
				Slots:  1,
				Speeds: [][]float64{{1}, {0.1}},
				Jobs:   []late.Load{{Submit: tt.submit, Stages: tt.stages}},
			}
			o, err := trial.Run(tt.policy)
			require.NoError(t, err)
			require.Equal(t, tt.want, o)
		})
	}
}

// A task of two minutes on a node that slows down after the first, and stays so.
func TestTrial_SpeedsChangeByPeriod(t *testing.T) {
	trial := late.Trial{
		Slots:  1,
		Period: time.Minute,
		Speeds: [][]float64{{1, 0.5, 0.1}},
		Jobs:   []late.Load{{Stages: []late.Stage{{Work: seconds(120)}}}},
	}
	o, err := trial.Run(late.Policy{})
	require.NoError(t, err)
	require.Equal(t, seconds(60+60+300), o.Took)
}

// Both tasks of the first job are done at 90 s and 180 s; the second job comes
// first in time, and last in order.
func TestTrial_ServesJobsInOrder(t *testing.T) {
	one := []late.Stage{{Work: seconds(90, 90)}}
	trial := late.Trial{
		Slots:  1,
		Speeds: [][]float64{{1}},
		Jobs:   []late.Load{{Submit: 30 * time.Second, Stages: one}, {Stages: one}, {Submit: 60 * time.Second, Stages: one}},
	}
	o, err := trial.Run(late.Policy{Rule: late.Never})
	require.NoError(t, err)
	require.Equal(t, seconds(270-30, 360, 540-60), o.Took)
}

// At 300 s the second task has done half its work. If that is half its progress
// it is a quarter behind the average; if it is two phases of three, a tenth.
func TestTrial_ProgressIsByPhases(t *testing.T) {
	for copies, parts := range []late.Phases{{1, 1, 8}, nil} {
		trial := late.Trial{
			Slots:  1,
			Speeds: [][]float64{{1}, {0.5}},
			Jobs:   []late.Load{{Stages: []late.Stage{{Work: seconds(300, 300), Parts: parts}}}},
		}
		o, err := trial.Run(late.Policy{Rule: late.Hadoop})
		require.NoError(t, err)
		require.Equal(t, copies, o.Copies, "%v", parts)
	}
}

// With a disk of their own, two attempts on a node take as long as one.
func TestTrial_SharingIsHowMuchSlotsAreInEachOthersWay(t *testing.T) {
	for sharing, want := range map[float64]int{0: 90, 0.5: 135, 1: 180} {
		trial := late.Trial{
			Slots:   2,
			Sharing: sharing,
			Speeds:  [][]float64{{1}},
			Jobs:    []late.Load{{Stages: []late.Stage{{Work: seconds(90, 90)}}}},
		}
		o, err := trial.Run(late.Policy{})
		require.NoError(t, err)
		require.Equal(t, seconds(want), o.Took)
	}
}

func TestTrial_NamesTheValueItRefuses(t *testing.T) {
	with := func(stage late.Stage) late.Trial {
		return late.Trial{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []late.Load{{Stages: []late.Stage{stage}}}}
	}
	tests := map[string]struct {
		trial late.Trial
		text  string
	}{
		"no nodes":       {late.Trial{Slots: 1}, "late: trial: 0 nodes of 1 slots"},
		"no slots":       {late.Trial{Speeds: [][]float64{{1}}}, "1 nodes of 0 slots"},
		"heartbeat":      {late.Trial{Slots: 1, Speeds: [][]float64{{1}}, Heartbeat: -1}, "heartbeat -1ns"},
		"period":         {late.Trial{Slots: 1, Speeds: [][]float64{{1, 2}}, Period: math.MaxInt64}, "period 2562047h"},
		"no speed":       {late.Trial{Slots: 1, Speeds: [][]float64{{}}}, "node 0 has 0 speeds"},
		"no period":      {late.Trial{Slots: 1, Speeds: [][]float64{{1, 2}}}, "node 0 has 2 speeds of 0s each"},
		"speed 0":        {late.Trial{Slots: 1, Speeds: [][]float64{{1}, {0}}}, "node 1 has speed 0, want 0.001 to 1000"},
		"NaN":            {late.Trial{Slots: 1, Speeds: [][]float64{{math.NaN()}}}, "speed NaN"},
		"sharing":        {late.Trial{Slots: 1, Sharing: -1, Speeds: [][]float64{{1}}}, "sharing -1, want 0 to 1"},
		"no stages":      {late.Trial{Slots: 1, Speeds: [][]float64{{1}}, Jobs: make([]late.Load, 1)}, "job 0 of 0 stages"},
		"no tasks":       {with(late.Stage{}), "stage 0 of job 0 has 0 tasks"},
		"copies of some": {with(late.Stage{Work: seconds(1, 2), Again: seconds(1)}), "2 tasks and 1 copies"},
		"negative work":  {with(late.Stage{Work: seconds(1, -1)}), "task 1 of job 0, stage 0, has work of -1s"},
		"a copy's work":  {with(late.Stage{Work: seconds(1, 1), Again: seconds(1, -1)}), "task 1 of job 0, stage 0, has work of -1s"},
		"the year 3000":  {late.Trial{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []late.Load{{Submit: math.MaxInt64}}}, "submitted at 2562047h"},
		"before the day": {late.Trial{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []late.Load{{Submit: -1}}}, "submitted at -1ns"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tt.trial.Run(late.Policy{})
			require.ErrorIs(t, err, late.ErrSize)
			require.ErrorContains(t, err, tt.text)
		})
	}
	_, err := with(late.Stage{Work: seconds(1), Parts: late.Phases{1, -1}}).Run(late.Policy{})
	require.ErrorIs(t, err, late.ErrProgress)
	require.ErrorContains(t, err, "phase 1: weight -1")
	_, err = mixed(1, 1, 160).Run(late.Policy{Cap: 2})
	require.ErrorIs(t, err, late.ErrPolicy)
}

// past is a history in which a third of the nodes are slow.
func past() late.History {
	h := late.History{Slots: 1}
	for k := range 3 {
		job := late.Past{Submit: time.Duration(k) * 10 * time.Minute}
		for i := range 24 {
			took := 2 * time.Minute
			if i%12 >= 8 {
				took *= 5
			}
			job.Tasks = append(job.Tasks, late.Ran{Node: locality.Node(1000 * (i % 12)), Took: took})
		}
		h.Jobs = append(h.Jobs, job)
	}
	return h
}

func TestTune_FindsThePolicyOfTheHistory(t *testing.T) {
	tuned, err := late.Tune(past())
	require.NoError(t, err)
	require.Greater(t, tuned.Gain(), 0.02)
	require.Less(t, tuned.Mean, tuned.Default)
	require.LessOrEqual(t, tuned.Default, tuned.None)

	trial, err := past().Trial()
	require.NoError(t, err)
	o, err := trial.Run(tuned.Policy)
	require.NoError(t, err)
	require.Equal(t, tuned.Mean, o.Mean())
	require.InDelta(t, 5, trial.Speeds[0][0]/trial.Speeds[11][0], 1e-9)
}

func TestTune_KeepsTheDefaultWhereNothingIsBetter(t *testing.T) {
	job := late.Past{Tasks: []late.Ran{{Node: 7, Took: time.Minute}, {Node: 9, Took: time.Minute}}}
	tuned, err := late.Tune(late.History{Slots: 1, Jobs: []late.Past{job}})
	require.NoError(t, err)
	require.Equal(t, late.Tuned{Mean: time.Minute, Default: time.Minute, None: time.Minute}, tuned)
	require.Zero(t, tuned.Gain())
}

func TestTune_NamesTheValueItRefuses(t *testing.T) {
	job := late.Past{Tasks: []late.Ran{{Took: 1}}}
	for text, h := range map[string]late.History{
		"history: 0 jobs on nodes of 1 slots": {Slots: 1},
		"history: 1 jobs on nodes of 0 slots": {Jobs: []late.Past{job}},
		"job 1 of 0 tasks":                    {Slots: 1, Jobs: []late.Past{job, {}}},
		"task 0 of job 0 took 0s":             {Slots: 1, Jobs: []late.Past{{Tasks: []late.Ran{{}}}}},
		"submitted at -1ns":                   {Slots: 1, Jobs: []late.Past{{Submit: -1, Tasks: job.Tasks}}},
	} {
		_, err := late.Tune(h)
		require.ErrorIs(t, err, late.ErrSize)
		require.ErrorContains(t, err, text)
	}
}
