package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/drf/allot"
)

// RogueRow is the outcome for honest schedulers beside one that may be a rogue,
// as the mean over the seeds.
type RogueRow struct {
	Rogue   string // its behaviour
	Measure string // the measure against it
	Seeds   int

	// Of the others, all together: jobs, seconds until a job was placed in
	// full, the share of the cell that they held, and tasks preempted.
	// Left is the jobs that were not placed in full by the end.
	Submitted, Left  float64
	Full, FullP90    float64
	Share, Preempted float64

	// Of the rogue. Found is the seconds after which the audit named it, the
	// mean of the FoundIn seeds in which it did. Accused is the number of seeds in which
	// the audit named another scheduler.
	RogueShare, RoguePreempted float64
	Found                      float64
	FoundIn, Accused           int

	CPU float64 // share in use
}

// named is the number of audits in a row, a minute apart, after which a scheduler is
// named. In each it is over its fair share by most, while another is short. Bursts of
// honest ones end sooner.
const named = 20

// trial is one row to be.
type trial struct {
	behaviour
	measure
}

// verdict is the result of one run.
type verdict struct {
	*simulate.Metrics
	audits  int
	shares  [honest + 1]float64 // sums over the audits
	found   time.Duration       // 0 if the rogue was not
	accused bool                // another scheduler was

	suspect int // the last that was over by most
	inARow  int // audits in which it was
}

// audit takes the findings of each audit.
func (v *verdict) audit(now time.Duration, r allot.Report) {
	v.audits++
	for i, u := range r.Users {
		v.shares[i] += u.Held
	}
	user, ok := simulate.Over(r)
	if !ok || user != v.suspect {
		v.inARow = 0
	}
	if !ok {
		return
	}
	v.suspect = user
	if v.inARow++; v.inARow != named {
		return
	}
	if user != rogue {
		v.accused = true
	} else if v.found == 0 {
		v.found = now
	}
}

func (t *trial) run(ctx context.Context, seed uint64, o Options) (*verdict, error) {
	w := teams()
	jobs, err := simulate.Generate(seed, o.Horizon, w.Sources[:]...)
	if err != nil {
		return nil, err
	}
	if t.behaviour.apply != nil {
		jobs = t.behaviour.apply(&w, jobs, o.Horizon)
	}
	v := &verdict{}
	// A rogue need not look twice: it is quicker with a task than the others.
	think := simulate.DefaultThink()
	quick := simulate.Think{Job: think.Job, Task: 2 * time.Millisecond}
	cfg := simulate.Config{
		Cell: w.Cell, Jobs: jobs, Architecture: simulate.SharedState(think, quick, honest),
		Horizon: o.Horizon, Attempts: -1, Fruitless: -1, Seed: seed,
		Audit: &simulate.Audit{Every: time.Minute, Observe: v.audit},
	}
	t.measure.apply(&cfg)
	if v.Metrics, err = simulate.Run(ctx, cfg); err != nil {
		return nil, fmt.Errorf("rogue %q, measure %q, seed %d: %w", t.behaviour.name, t.measure.name, seed, err)
	}
	return v, nil
}

// Rogue shows the effect on the others of one scheduler of five that claims too much,
// or keeps it, and how far the audit of package drf sees it. It shows the effect of
// three measures: limits of package omega, the gate of package drf, and preemption of the
// room over the fair share. The audit is there in every row; it acts in those of
// preemption only. Limits are the fair share. A rogue that is contained is not found:
// then no scheduler is short for long.
//
// None of them can do everything:
//
//   - A cell sees claims and not their use. So a rogue within its fair share is
//     never found, and one above it looks as one with much to do.
//   - Limits cost honest bursts, whether or not there is a rogue, and leave the room
//     empty that the others do not want.
//   - The gate decides which scheduler takes next, and not which gives back. It does not
//     help against one that takes idle room, and keeps it for long, while none
//     waits. And it trusts that schedulers ask. One that does not is not held, while the
//     others hold each other.
//   - Preemption throws away work, and as long as the rogue claims anew it is to be done
//     again.
//
// The figures are of three hours with seed 1 (go -C bench run ./sim -experiment rogue).
// One rogue keeps everything for an hour. The others wait 1159 s for all of a job,
// and 381 of 680 jobs are left. With limits it is 14 s and none, with preemption 30 s
// and 3. With the gate it is 245 s and 9, and 1095 s and 493 if the rogue does not ask.
// With limits they wait as long where no scheduler is a rogue, without them 0.1 s. With
// a rogue that takes idle room it is 217 s, and 279 s with the gate.
func Rogue(ctx context.Context, o Options) ([]RogueRow, error) {
	var trials []trial
	for _, b := range behaviours() {
		for _, m := range measures() {
			trials = append(trials, trial{b, m})
		}
	}
	results, err := each(ctx, o, trials, func(ctx context.Context, t *trial, seed uint64, o Options) (*verdict, error) {
		return t.run(ctx, seed, o)
	})
	if err != nil {
		return nil, err
	}
	rows := make([]RogueRow, len(trials))
	for i, t := range trials {
		rows[i] = RogueRow{Rogue: t.behaviour.name, Measure: t.measure.name}
		rows[i].summarise(results[i])
	}
	return rows, nil
}

func (r *RogueRow) summarise(runs []*verdict) {
	r.Seeds = len(runs)
	part := 1 / float64(len(runs))
	for _, v := range runs {
		c := &v.Classes[simulate.Batch]
		r.Submitted += part * float64(c.Submitted)
		r.Left += part * float64(c.Left())
		r.Full += part * c.WaitFull.Mean.Seconds()
		r.FullP90 += part * c.WaitFull.P90.Seconds()
		r.CPU += part * v.Utilisation[simulate.CPU]
		for i := range v.Schedulers {
			share, preempted := part*v.shares[i]/float64(max(1, v.audits)), part*float64(v.Schedulers[i].Preempted)
			if i == rogue {
				r.RogueShare, r.RoguePreempted = r.RogueShare+share, r.RoguePreempted+preempted
			} else {
				r.Share, r.Preempted = r.Share+share, r.Preempted+preempted
			}
		}
		if v.accused {
			r.Accused++
		}
		if v.found > 0 {
			r.Found += v.found.Seconds()
			r.FoundIn++
		}
	}
	r.Found /= float64(max(1, r.FoundIn))
}
