package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/drf/allot"
)

// RogueRow is what becomes of honest schedulers beside one that may be a rogue,
// as the mean over the seeds.
type RogueRow struct {
	Rogue   string // what it does
	Measure string // what is there against it
	Seeds   int

	// Of the others, all together: jobs, seconds until a job was placed in
	// full, the share of the cell that they held, and tasks preempted.
	// Left is the jobs that were not placed in full by the end.
	Submitted, Left  float64
	Full, FullP90    float64
	Share, Preempted float64

	// Of the rogue. Found is the seconds after which the audit named it, the
	// mean of the FoundIn seeds in which it did; Accused is in how many seeds
	// the audit named somebody else.
	RogueShare, RoguePreempted float64
	Found                      float64
	FoundIn, Accused           int

	CPU float64 // share in use
}

// named is in how many audits in a row, a minute apart, the same scheduler has
// to be over its fair share by most, while somebody is short, to be named:
// bursts of honest ones end sooner.
const named = 20

// trial is one row to be.
type trial struct {
	behaviour
	measure
}

// verdict is what came out of one run.
type verdict struct {
	*simulate.Metrics
	audits  int
	shares  [honest + 1]float64 // sums over the audits
	found   time.Duration       // 0 if the rogue was not
	accused bool                // somebody else was

	suspect int // the last that was over by most
	inARow  int // audits in which it was
}

// audit is told what each audit has found.
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

// Rogue shows what one scheduler of five that claims too much, or keeps it, does
// to the others, what the audit of package drf sees of it, and what limits of
// package omega, the gate of package drf, and preemption of what is over the fair
// share do about it. The audit is there in every row; it acts in those of
// preemption only. Limits are the fair share. A rogue that is contained is not
// found: then nobody is short for long.
//
// What none of them can do: a cell sees claims and not what is done with them,
// so that a rogue within its fair share is never found, and one above it looks as
// one with much to do. Limits cost honest bursts, whether or not there is a
// rogue, and leave empty what the others do not want. The gate decides who takes
// next, and not who gives back: it does not help against one that takes what is
// idle, and keeps it for long, while nobody waits; and it trusts who asks: one
// that does not is not held, while the others hold each other. Preemption throws
// away work, and as long as the rogue claims anew it is to be done again.
//
// Of one that keeps everything for an hour, in three hours with seed 1 (go -C
// bench run ./sim -experiment rogue), the others wait 1159 s for all of a job and 381
// of 680 jobs are left; with limits it is 14 s and none, with preemption 30 s and
// 3, with the gate 245 s and 9, and 1095 s and 493 if the rogue does not ask it.
// With limits they wait as long where nobody is a rogue, without them 0.1 s. Of
// one that takes what is idle it is 217 s, and 279 s with the gate.
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
