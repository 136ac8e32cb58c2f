package elastic_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// The three policies of the Omega paper, section 6.1, on a cell of 1000 CPUs of
// which 500 are in use, for a job that asked for 11 workers.
func TestPolicy_BoundsTheWorkers(t *testing.T) {
	room := elastic.Room{Workers: 500, Used: resources.Vector{500, 90}, Total: resources.Vector{1000, 100}}
	tests := map[string]struct {
		policy elastic.Policy
		job    elastic.Job
		want   elastic.Plan
	}{
		"max-parallelism stops where it no longer helps": {
			elastic.Policy{}, jobOf(maps(330), 11), elastic.Plan{330, time.Minute, 30, elastic.Parallelism},
		},
		"max-parallelism takes what is idle": {
			elastic.Policy{}, jobOf(maps(1000), 10), elastic.Plan{500, 2 * time.Minute, 50, elastic.Idle},
		},
		"global cap of 60 %": {
			elastic.Policy{Cap: 60}, jobOf(maps(1000), 10), elastic.Plan{100, 10 * time.Minute, 10, elastic.Capped},
		},
		"the cap does not bind what was asked for": {
			elastic.Policy{Cap: 40}, jobOf(maps(40), 20), elastic.Plan{20, 2 * time.Minute, 1, elastic.Capped},
		},
		"relative job size of 4": {
			elastic.Policy{Times: 4}, jobOf(maps(88), 11), elastic.Plan{44, 2 * time.Minute, 4, elastic.Sized},
		},
		"both bounds": {
			elastic.Policy{Cap: 60, Times: 4}, jobOf(maps(1000), 50), elastic.Plan{100, 10 * time.Minute, 2, elastic.Capped},
		},
		"no more than asked for": {
			elastic.Policy{Times: 1}, jobOf(maps(22), 11), elastic.Plan{11, 2 * time.Minute, 1, elastic.Sized},
		},
		"fewer maps than workers asked for": {
			elastic.Policy{}, jobOf(maps(5), 11), elastic.Plan{11, time.Minute, 1, elastic.Parallelism},
		},
		"less room than asked for": {
			elastic.Policy{Cap: 10, Times: 4}, jobOf(maps(1000), 1000), elastic.Plan{500, 2 * time.Minute, 1, elastic.Idle},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, plan(t, test.policy, test.job, room))
		})
	}
}

// A kind that workers do not need may be as full as it likes.
func TestPlan_CapIsOfTheKindsThatWorkersNeed(t *testing.T) {
	room := elastic.Room{Workers: 50, Used: resources.Vector{50, 95}, Total: resources.Vector{100, 100}}
	job := jobOf(maps(100), 1)
	require.Equal(t, 10, plan(t, elastic.Policy{Cap: 60}, job, room).Workers)

	job.Need = resources.Vector{1, 1}
	require.Equal(t, 1, plan(t, elastic.Policy{Cap: 60}, job, room).Workers)
}

func TestPlan_ShrinksARunningJob(t *testing.T) {
	full := elastic.Room{Workers: 20, Used: resources.Vector{80}, Total: resources.Vector{100}}
	job := jobOf(maps(200), 10)
	job.Held = 50
	require.Equal(t, 30, plan(t, elastic.Policy{Cap: 60}, job, full).Workers, "others came: back to 60 %")
	require.Equal(t, 70, plan(t, elastic.Policy{}, job, full).Workers)
	job.Need = resources.Vector{3}
	require.Equal(t, 43, plan(t, elastic.Policy{Cap: 60}, job, full).Workers, "20 CPUs too many are 7 workers")

	reduces := elastic.MapReduce{Maps: 200, Reduces: 15, MapWork: 1, ReduceWork: time.Hour}.After(50, 1)
	job.Most, job.Model = reduces.Parallelism(), reduces.Time
	require.Equal(t, 15, plan(t, elastic.Policy{}, job, full).Workers, "a phase with fewer activities")
}

func TestPlan_AsksTheModelOfTheCaller(t *testing.T) {
	room := elastic.Room{Workers: 100, Total: resources.Vector{100}}
	// Every worker costs the master a second.
	job := elastic.Job{Need: resources.Vector{1}, Asked: 2, Model: func(workers int) time.Duration {
		return 900*time.Second/time.Duration(workers) + time.Duration(workers)*time.Second
	}}
	require.Equal(t, elastic.Plan{30, time.Minute, 452.0 / 60, elastic.Parallelism}, plan(t, elastic.Policy{}, job, room))

	job.Model = func(int) time.Duration { return 0 }
	require.Equal(t, elastic.Plan{Workers: 2, Speedup: 1}, plan(t, elastic.Policy{}, job, room), "of equals the fewest")

	job.Model = func(workers int) time.Duration { return time.Duration(max(3-workers, 0)) }
	require.True(t, math.IsInf(plan(t, elastic.Policy{}, job, room).Speedup, 1))
}

// A job that is done has no parallelism, which says that only the model knows.
func TestPlan_AsksNoFurtherThanNoTimeAtAll(t *testing.T) {
	room := elastic.Room{Workers: math.MaxInt32, Total: resources.Vector{math.MaxInt32}}
	job := jobOf(elastic.MapReduce{}, 5)
	calls := 0
	job.Model = func(workers int) time.Duration {
		calls++
		return time.Duration(max(7-workers, 0))
	}
	require.Equal(t, elastic.Plan{7, 0, math.Inf(1), elastic.Parallelism}, plan(t, elastic.Policy{}, job, room))
	require.Equal(t, 3, calls)
}

func TestPlan_WithoutRoom(t *testing.T) {
	require.Equal(t, elastic.Plan{Time: math.MaxInt64, Speedup: 1, Bound: elastic.Idle},
		plan(t, elastic.Policy{}, jobOf(maps(5), 5), elastic.Room{}))
}

// drawPlanned draws a policy, a job and a room for it.
func drawPlanned(t *rapid.T) (elastic.Policy, elastic.Job, elastic.MapReduce, elastic.Room) {
	p := elastic.Policy{Cap: rapid.IntRange(0, 100).Draw(t, "cap"), Times: rapid.IntRange(0, 6).Draw(t, "times")}
	m := drawMapReduce(t)
	j := jobOf(m, rapid.IntRange(1, 100).Draw(t, "asked"))
	j.Held = rapid.IntRange(0, 200).Draw(t, "held")
	j.Need = resources.Vector{rapid.Int64Range(0, 3).Draw(t, "cpu"), rapid.Int64Range(1, 5).Draw(t, "memory")}
	held := j.Need.Scale(int64(j.Held))
	room := elastic.Room{
		Workers: rapid.IntRange(0, 300).Draw(t, "idle"),
		Used: held.Add(resources.Vector{
			rapid.Int64Range(0, 1000).Draw(t, "others' cpu"), rapid.Int64Range(0, 1000).Draw(t, "others' memory"),
		}),
	}
	room.Total = room.Used.Add(j.Need.Scale(int64(room.Workers))).Add(resources.Vector{
		rapid.Int64Range(0, 500).Draw(t, "spare cpu"), rapid.Int64Range(0, 500).Draw(t, "spare memory"),
	})
	return p, j, m, room
}

func TestPlan_StaysWithinTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, j, m, room := drawPlanned(t)
		got, err := p.Plan(j, room)
		require.NoError(t, err)

		require.LessOrEqual(t, got.Workers, j.Held+room.Workers)
		require.GreaterOrEqual(t, got.Workers, min(j.Asked, j.Held+room.Workers), "what was asked for")
		require.GreaterOrEqual(t, got.Speedup, 1.0)
		require.LessOrEqual(t, got.Time, m.Time(min(j.Asked, j.Held+room.Workers)))
		require.Equal(t, m.Time(got.Workers), got.Time)
		if got.Workers <= j.Asked {
			return
		}
		require.LessOrEqual(t, got.Workers, m.Parallelism())
		if p.Times > 0 {
			require.LessOrEqual(t, got.Workers, p.Times*j.Asked)
		}
		if p.Cap > 0 {
			for k, q := range j.Need {
				if q > 0 {
					used := room.Used[k] + int64(got.Workers-j.Held)*q
					require.LessOrEqual(t, used*100, int64(p.Cap)*room.Total[k])
				}
			}
		}
	})
}

// The bound that a plan names is what the next worker would break, or none of
// those that break nothing is of use.
func TestPlan_NamesTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, j, m, room := drawPlanned(t)
		got, err := p.Plan(j, room)
		require.NoError(t, err)
		idle := func(n int) bool { return n <= j.Held+room.Workers }
		sized := func(n int) bool { return p.Times == 0 || n <= p.Times*j.Asked }
		capped := func(n int) bool { return within(p, j, room, n) }
		next := got.Workers + 1
		switch got.Bound {
		case elastic.Idle:
			require.False(t, idle(next))
		case elastic.Capped:
			require.False(t, capped(next))
		case elastic.Sized:
			require.False(t, sized(next))
		case elastic.Parallelism:
			for n := next; n <= m.Parallelism() && idle(n) && sized(n) && capped(n); n++ {
				require.Equal(t, got.Time, m.Time(n))
			}
		}
	})
}

func TestPlan_IsMonotoneInWhatIsIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, j, _, room := drawPlanned(t)
		less, err := p.Plan(j, room)
		require.NoError(t, err)

		more := rapid.IntRange(0, 200).Draw(t, "more")
		room.Workers += more
		room.Total = room.Total.Add(j.Need.Scale(int64(more)))
		got, err := p.Plan(j, room)
		require.NoError(t, err)
		require.GreaterOrEqual(t, got.Workers, less.Workers)
		require.LessOrEqual(t, got.Time, less.Time)
	})
}

func TestPlan_RefusesBadInput(t *testing.T) {
	const huge = math.MaxInt64
	tests := map[string]struct {
		change func(*elastic.Policy, *elastic.Job, *elastic.Room)
		is     error
		says   string
	}{
		"cap above 100": {
			func(p *elastic.Policy, _ *elastic.Job, _ *elastic.Room) { p.Cap = 101 },
			elastic.ErrPolicy, "elastic: cap of 101 %, want 0 to 100: invalid policy",
		},
		"negative cap": {
			func(p *elastic.Policy, _ *elastic.Job, _ *elastic.Room) { p.Cap = -1 },
			elastic.ErrPolicy, "elastic: cap of -1 %, want 0 to 100: invalid policy",
		},
		"negative multiple": {
			func(p *elastic.Policy, _ *elastic.Job, _ *elastic.Room) { p.Times = -4 },
			elastic.ErrPolicy, "elastic: -4 times what a job asked for, want 0 or more: invalid policy",
		},
		"no worker asked for": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) { j.Asked = 0 },
			elastic.ErrJob, "elastic: 0 workers asked for, want 1 to 2147483647: invalid job",
		},
		"negative number held": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) { j.Held = -1 },
			elastic.ErrJob, "elastic: -1 workers held, want 0 to 2147483647: invalid job",
		},
		"negative most": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) { j.Most = -1 },
			elastic.ErrJob, "elastic: -1 workers at most, want 0 to 2147483647: invalid job",
		},
		"no model": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) { j.Model = nil },
			elastic.ErrModel, "elastic: model is nil, want a function of the workers: invalid model",
		},
		"a model that ends before it starts": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) {
				j.Model = func(n int) time.Duration { return time.Duration(5 - 2*n) }
			},
			elastic.ErrModel, "elastic: model says -1ns for 3 workers, want 0 or more: invalid model",
		},
		"workers that need nothing": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) { j.Need = resources.Vector{} },
			resources.ErrQuantity, "elastic: worker's need: invalid quantity: need is 0 of every kind, want more than 0 of one",
		},
		"negative need": {
			func(_ *elastic.Policy, j *elastic.Job, _ *elastic.Room) { j.Need[2] = -1 },
			resources.ErrQuantity, "",
		},
		"negative room": {
			func(_ *elastic.Policy, _ *elastic.Job, r *elastic.Room) { r.Workers = -2 },
			elastic.ErrRoom, "elastic: -2 workers fit, want 0 or more: invalid room",
		},
		"more used than there is": {
			func(_ *elastic.Policy, _ *elastic.Job, r *elastic.Room) { r.Used[0] = 11 },
			elastic.ErrRoom, "elastic: kind0=11 used, want at most the total, kind0=10: invalid room",
		},
		"negative used": {
			func(_ *elastic.Policy, _ *elastic.Job, r *elastic.Room) { r.Used[0] = -1 },
			resources.ErrQuantity, "",
		},
		"a total that is no quantity": {
			func(_ *elastic.Policy, _ *elastic.Job, r *elastic.Room) { r.Total[0] = huge },
			resources.ErrQuantity, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, j, r := elastic.Policy{}, jobOf(maps(8), 2), elastic.Room{Workers: 10, Total: resources.Vector{10}}
			test.change(&p, &j, &r)
			got, err := p.Plan(j, r)
			require.ErrorIs(t, err, test.is)
			require.Zero(t, got)
			if test.says != "" {
				require.EqualError(t, err, test.says)
			}
		})
	}
}

// Sums and products at the top of their range are exact.
func TestPlan_AtTheTopOfTheRange(t *testing.T) {
	const top = resources.MaxQuantity
	room := elastic.Room{Workers: 3, Used: resources.Vector{top - 7}, Total: resources.Vector{top}}
	job := jobOf(maps(1000), 1)
	require.Equal(t, 3, plan(t, elastic.Policy{Cap: 100}, job, room).Workers)
	room.Workers = 300
	require.Equal(t, 7, plan(t, elastic.Policy{Cap: 100, Times: math.MaxInt}, job, room).Workers)
	room.Used[0] = top/100*99 + top%100*99/100 - 5
	require.Equal(t, 5, plan(t, elastic.Policy{Cap: 99}, job, room).Workers)
	job.Held = 10
	room.Used = room.Total
	require.Equal(t, 1, plan(t, elastic.Policy{Cap: 1}, job, room).Workers)
	room.Used = resources.Vector{}
	require.Equal(t, 310, plan(t, elastic.Policy{Cap: 99}, job, room).Workers, "more than an int of 32 bits may come")
}

// A job with maps that run in waves gains nothing from most additional workers, and
// then a lot from one.
func TestPlan_IsTheFewestOfThoseThatEndFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, j, _, room := drawPlanned(t)
		j.Most = 0
		times := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 20).Draw(t, "times")
		waves := rapid.Bool().Draw(t, "waves")
		j.Model = func(workers int) time.Duration {
			if waves {
				return time.Duration((100 + workers - 1) / workers)
			}
			return time.Duration(times[workers%len(times)])
		}
		got, err := p.Plan(j, room)
		require.NoError(t, err)
		base, most := min(j.Asked, j.Held+room.Workers), j.Held+room.Workers
		if p.Times > 0 {
			most = min(most, p.Times*j.Asked)
		}
		if base == 0 {
			require.Zero(t, got.Workers)
			return
		}
		want := base
		for n := base + 1; n <= most; n++ {
			if within(p, j, room, n) && j.Model(n) < j.Model(want) {
				want = n
			}
		}
		require.Equal(t, want, got.Workers)
	})
}

// within reports whether the cap allows the job n workers.
func within(p elastic.Policy, j elastic.Job, room elastic.Room, n int) bool {
	for k, q := range j.Need {
		if p.Cap > 0 && q > 0 && (room.Used[k]+int64(n-j.Held)*q)*100 > int64(p.Cap)*room.Total[k] {
			return false
		}
	}
	return true
}

func TestBound_HasAName(t *testing.T) {
	for b, name := range map[elastic.Bound]string{
		elastic.Parallelism: "parallelism", elastic.Idle: "idle", elastic.Capped: "capped", elastic.Sized: "sized", 9: "unknown bound",
	} {
		require.Equal(t, name, b.String())
	}
}
