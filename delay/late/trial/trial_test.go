package trial_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/delay/late/trial"
	"github.com/cellsched/cellsched/locality"
)

// mixed has 40 nodes of two slots: 60 % have speed 1, 25 % 0.7, 10 % 0.4 and 5 %
// 0.2, drawn again within 20 % each minute. Jobs come every five minutes, with
// stages of so many tasks of two minutes.
func mixed(seed uint64, jobs int, stages ...int) trial.Setup {
	random := rand.New(rand.NewPCG(seed, 2008))
	setup := trial.Setup{Slots: 2, Period: time.Minute}
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
		setup.Speeds = append(setup.Speeds, minutes)
	}
	random.Shuffle(40, func(i, j int) {
		setup.Speeds[i], setup.Speeds[j] = setup.Speeds[j], setup.Speeds[i]
	})
	for k := range jobs {
		load := trial.Load{Submit: time.Duration(k) * 5 * time.Minute}
		for _, tasks := range stages {
			work := make([]time.Duration, tasks)
			for i := range work {
				work[i] = time.Duration((0.9 + 0.2*random.Float64()) * float64(2*time.Minute))
			}
			load.Stages = append(load.Stages, trial.Stage{Work: work})
		}
		setup.Jobs = append(setup.Jobs, load)
	}
	return setup
}

func mean(t testing.TB, setup trial.Setup, p late.Policy) float64 {
	t.Helper()
	o, err := setup.Run(p)
	require.NoError(t, err)
	return o.Mean().Seconds()
}

// bench/late runs more seeds, on five times as many nodes.
func TestTrial_LATEBesideNoCopiesAndHadoop(t *testing.T) {
	const seeds = 4
	stream, capped, wider := 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		setup := mixed(seed, 6, 160)
		none, hadoop, ours := mean(t, setup, late.Policy{Rule: late.Never}), mean(t, setup, late.Policy{Rule: late.Hadoop}), mean(t, setup, late.Policy{})
		require.LessOrEqual(t, ours, 0.8*none, "seed %d", seed)
		stream += ours / hadoop / seeds

		setup = mixed(seed, 1, 80, 72)
		none, ours = mean(t, setup, late.Policy{Rule: late.Never}), mean(t, setup, late.Policy{})
		require.LessOrEqual(t, ours, 0.6*none, "seed %d", seed)
		capped += ours / seeds
		wider += mean(t, setup, late.Policy{Cap: 0.2}) / seeds
	}
	require.LessOrEqual(t, stream, 0.85, "jobs one after the other: a slot that copies is wanted elsewhere")
	require.LessOrEqual(t, wider, 0.9*capped, "15 % of the nodes are slow, and 10 % of the slots may copy")
}

// One slot in ten is free from the start, on nodes of which nothing is known. A
// copy there may be on a node of a fifth of the speed, for good.
func TestTrial_TheFirstCopiesAreOnNodesThatAreKnown(t *testing.T) {
	for seed := range uint64(8) {
		setup := mixed(seed, 1, 72)
		require.LessOrEqual(t, mean(t, setup, late.Policy{}), 0.6*mean(t, setup, late.Policy{Rule: late.Never}), "seed %d", seed)
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
	two := trial.Stage{Work: seconds(90, 90)}
	tests := map[string]struct {
		stages []trial.Stage
		submit time.Duration
		policy late.Policy
		want   trial.Outcome
	}{
		"no copies": {
			stages: []trial.Stage{two},
			policy: late.Policy{Rule: late.Never},
			want:   trial.Outcome{Took: seconds(900)},
		},
		"a copy wins": {
			stages: []trial.Stage{two},
			policy: late.Policy{SlowTask: 1},
			want:   trial.Outcome{Took: seconds(180), Copies: 1, Won: 1, Wasted: 180 * time.Second},
		},
		"a copy takes longer than the task did": {
			stages: []trial.Stage{{Work: seconds(90, 90), Again: seconds(90, 1000)}},
			policy: late.Policy{SlowTask: 1},
			want:   trial.Outcome{Took: seconds(900), Copies: 1, Wasted: 810 * time.Second},
		},
		"stages follow one another": { // the slow slot is the one that is free then
			stages: []trial.Stage{two, {Work: seconds(60)}, two},
			policy: late.Policy{Rule: late.Never},
			want:   trial.Outcome{Took: seconds(900 + 600 + 900)},
		},
		"nothing to do before": {
			stages: []trial.Stage{two},
			submit: 1000 * time.Hour,
			policy: late.Policy{Rule: late.Never},
			want:   trial.Outcome{Took: seconds(900)},
		},
		"the next heartbeat": {
			stages: []trial.Stage{two},
			submit: 1000*time.Hour - time.Second,
			policy: late.Policy{Rule: late.Never},
			want:   trial.Outcome{Took: seconds(901)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			setup := trial.Setup{
				Slots:  1,
				Speeds: [][]float64{{1}, {0.1}},
				Jobs:   []trial.Load{{Submit: tt.submit, Stages: tt.stages}},
			}
			o, err := setup.Run(tt.policy)
			require.NoError(t, err)
			require.Equal(t, tt.want, o)
		})
	}
}

// A task of two minutes on a node that slows down after the first, and stays so.
func TestTrial_SpeedsChangeByPeriod(t *testing.T) {
	setup := trial.Setup{
		Slots:  1,
		Period: time.Minute,
		Speeds: [][]float64{{1, 0.5, 0.1}},
		Jobs:   []trial.Load{{Stages: []trial.Stage{{Work: seconds(120)}}}},
	}
	o, err := setup.Run(late.Policy{})
	require.NoError(t, err)
	require.Equal(t, seconds(60+60+300), o.Took)
}

// Both tasks of the first job are done at 90 s and 180 s; the second job comes
// first in time, and last in order.
func TestTrial_ServesJobsInOrder(t *testing.T) {
	one := []trial.Stage{{Work: seconds(90, 90)}}
	setup := trial.Setup{
		Slots:  1,
		Speeds: [][]float64{{1}},
		Jobs:   []trial.Load{{Submit: 30 * time.Second, Stages: one}, {Stages: one}, {Submit: 60 * time.Second, Stages: one}},
	}
	o, err := setup.Run(late.Policy{Rule: late.Never})
	require.NoError(t, err)
	require.Equal(t, seconds(270-30, 360, 540-60), o.Took)
}

// At 300 s the second task has done half its work. If that is half its progress
// it is a quarter behind the average; if it is two phases of three, a tenth.
func TestTrial_ProgressIsByPhases(t *testing.T) {
	for copies, parts := range []late.Phases{{1, 1, 8}, nil} {
		setup := trial.Setup{
			Slots:  1,
			Speeds: [][]float64{{1}, {0.5}},
			Jobs:   []trial.Load{{Stages: []trial.Stage{{Work: seconds(300, 300), Parts: parts}}}},
		}
		o, err := setup.Run(late.Policy{Rule: late.Hadoop})
		require.NoError(t, err)
		require.Equal(t, copies, o.Copies, "%v", parts)
	}
}

// With a disk of their own, two attempts on a node take as long as one.
func TestTrial_SharingIsHowMuchSlotsAreInEachOthersWay(t *testing.T) {
	for sharing, want := range map[float64]int{0: 90, 0.5: 135, 1: 180} {
		setup := trial.Setup{
			Slots:   2,
			Sharing: sharing,
			Speeds:  [][]float64{{1}},
			Jobs:    []trial.Load{{Stages: []trial.Stage{{Work: seconds(90, 90)}}}},
		}
		o, err := setup.Run(late.Policy{})
		require.NoError(t, err)
		require.Equal(t, seconds(want), o.Took)
	}
}

func TestTrial_NamesTheValueItRefuses(t *testing.T) {
	with := func(stage trial.Stage) trial.Setup {
		return trial.Setup{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []trial.Load{{Stages: []trial.Stage{stage}}}}
	}
	tests := map[string]struct {
		setup trial.Setup
		text  string
	}{
		"no nodes":       {trial.Setup{Slots: 1}, "trial: 0 nodes of 1 slots"},
		"no slots":       {trial.Setup{Speeds: [][]float64{{1}}}, "1 nodes of 0 slots"},
		"heartbeat":      {trial.Setup{Slots: 1, Speeds: [][]float64{{1}}, Heartbeat: -1}, "heartbeat -1ns"},
		"period":         {trial.Setup{Slots: 1, Speeds: [][]float64{{1, 2}}, Period: math.MaxInt64}, "period 2562047h"},
		"no speed":       {trial.Setup{Slots: 1, Speeds: [][]float64{{}}}, "node 0 has 0 speeds"},
		"no period":      {trial.Setup{Slots: 1, Speeds: [][]float64{{1, 2}}}, "node 0 has 2 speeds of 0s each"},
		"speed 0":        {trial.Setup{Slots: 1, Speeds: [][]float64{{1}, {0}}}, "node 1 has speed 0, want 0.001 to 1000"},
		"NaN":            {trial.Setup{Slots: 1, Speeds: [][]float64{{math.NaN()}}}, "speed NaN"},
		"sharing":        {trial.Setup{Slots: 1, Sharing: -1, Speeds: [][]float64{{1}}}, "sharing -1, want 0 to 1"},
		"no stages":      {trial.Setup{Slots: 1, Speeds: [][]float64{{1}}, Jobs: make([]trial.Load, 1)}, "job 0 of 0 stages"},
		"no tasks":       {with(trial.Stage{}), "stage 0 of job 0 has 0 tasks"},
		"copies of some": {with(trial.Stage{Work: seconds(1, 2), Again: seconds(1)}), "2 tasks and 1 copies"},
		"negative work":  {with(trial.Stage{Work: seconds(1, -1)}), "task 1 of job 0, stage 0, has work of -1s"},
		"a copy's work":  {with(trial.Stage{Work: seconds(1, 1), Again: seconds(1, -1)}), "task 1 of job 0, stage 0, has work of -1s"},
		"the year 3000":  {trial.Setup{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []trial.Load{{Submit: math.MaxInt64}}}, "submitted at 2562047h"},
		"before the day": {trial.Setup{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []trial.Load{{Submit: -1}}}, "submitted at -1ns"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tt.setup.Run(late.Policy{})
			require.ErrorIs(t, err, late.ErrSize)
			require.ErrorContains(t, err, tt.text)
		})
	}
	_, err := with(trial.Stage{Work: seconds(1), Parts: late.Phases{1, -1}}).Run(late.Policy{})
	require.ErrorIs(t, err, late.ErrCall)
	require.ErrorContains(t, err, "phase 1: weight -1")
	_, err = mixed(1, 1, 160).Run(late.Policy{Cap: 2})
	require.ErrorIs(t, err, late.ErrPolicy)
}

// past is a history in which a third of the nodes are slow.
func past() trial.History {
	h := trial.History{Slots: 1}
	for k := range 3 {
		job := trial.Past{Submit: time.Duration(k) * 10 * time.Minute}
		for i := range 24 {
			took := 2 * time.Minute
			if i%12 >= 8 {
				took *= 5
			}
			job.Tasks = append(job.Tasks, trial.Ran{Node: locality.Node(1000 * (i % 12)), Took: took})
		}
		h.Jobs = append(h.Jobs, job)
	}
	return h
}

func TestTune_FindsThePolicyOfTheHistory(t *testing.T) {
	tuned, err := trial.Tune(past())
	require.NoError(t, err)
	require.Greater(t, tuned.Gain(), 0.02)
	require.Less(t, tuned.Mean, tuned.Default)
	require.LessOrEqual(t, tuned.Default, tuned.None)

	setup, err := past().Setup()
	require.NoError(t, err)
	o, err := setup.Run(tuned.Policy)
	require.NoError(t, err)
	require.Equal(t, tuned.Mean, o.Mean())
	require.InDelta(t, 5, setup.Speeds[0][0]/setup.Speeds[11][0], 1e-9)
}

func TestTune_KeepsTheDefaultWhereNothingIsBetter(t *testing.T) {
	job := trial.Past{Tasks: []trial.Ran{{Node: 7, Took: time.Minute}, {Node: 9, Took: time.Minute}}}
	tuned, err := trial.Tune(trial.History{Slots: 1, Jobs: []trial.Past{job}})
	require.NoError(t, err)
	require.Equal(t, trial.Tuned{Mean: time.Minute, Default: time.Minute, None: time.Minute}, tuned)
	require.Zero(t, tuned.Gain())
}

func TestTune_NamesTheValueItRefuses(t *testing.T) {
	job := trial.Past{Tasks: []trial.Ran{{Took: 1}}}
	for text, h := range map[string]trial.History{
		"history: 0 jobs on nodes of 1 slots": {Slots: 1},
		"history: 1 jobs on nodes of 0 slots": {Jobs: []trial.Past{job}},
		"job 1 of 0 tasks":                    {Slots: 1, Jobs: []trial.Past{job, {}}},
		"task 0 of job 0 took 0s":             {Slots: 1, Jobs: []trial.Past{{Tasks: []trial.Ran{{}}}}},
		"submitted at -1ns":                   {Slots: 1, Jobs: []trial.Past{{Submit: -1, Tasks: job.Tasks}}},
	} {
		_, err := trial.Tune(h)
		require.ErrorIs(t, err, late.ErrSize)
		require.ErrorContains(t, err, text)
	}
}
