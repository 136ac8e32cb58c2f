package experiments

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/locality/quincy"
)

// cause is something that may make Quincy lose work by preemption, of which a policy
// is run without.
type cause uint8

const (
	asPublished cause = iota
	// moving: a task that runs has no arc to another machine.
	moving
	// fetched: the input of a running task costs nothing where the task runs.
	fetched
	// choosing: a task that runs cannot be moved, and its lost work costs ten
	// times as much, so that the youngest are stopped, and as few as shares ask for.
	choosing
)

// heavy is the factor by which lost work costs more without choosing. More makes the solver slow.
const heavy = 10

// removed takes a cause out of the arcs of a running task, which begin at first with
// the one to where it runs and the one to wait: see [quincy.DataCosts.Arcs].
func (c cause) removed(arcs []quincy.Arc, first int, work int32, ran int64) []quincy.Arc {
	switch c {
	case moving:
		return arcs[:first+2]
	case fetched:
		arcs[first].Cost = -int64(work) * ran
	case choosing:
		arcs[first].Cost -= (heavy - 1) * int64(work) * ran
		arcs[first].Rate *= heavy
		return arcs[:first+2]
	}
	return arcs
}

// Cause compares the slot time that Quincy loses by preemption with the loss of the
// queues, after one possible cause of the difference has been removed. Both are fair.
type Cause struct {
	Without       string // the cause, as a noun
	Queues, Flow  Row
	More          interval.Estimate // percent of slot time lost by Quincy, less that by the queues
	Change        interval.Estimate // of More, by removing the cause
	MoreForced    interval.Estimate // stops that shares ask for, by Quincy less by the queues
	MoreElective  interval.Estimate // other stops
	LostWithStops interval.Estimate // seconds lost with a stop, by Quincy less by the queues
}

// Causes runs the narrow load with each possible cause of Quincy's larger loss removed,
// one at a time. The first row removes nothing. Options and errors are those of [Sweep].
func Causes(ctx context.Context, o Options) ([]Cause, error) {
	all := []struct {
		without string
		cause   cause
		instant bool
	}{
		{"nothing", asPublished, false},
		{"migration of running tasks", moving, false},
		{"the cost of data that a running task has fetched already", fetched, false},
		{"migration, and victims other than the youngest", choosing, false},
		{"the time of data transfers, for both policies", asPublished, true},
	}
	at := func(instant bool) load {
		return load{name: "narrow", make: func(o Options, seed uint64) (*setting, error) {
			s, err := narrowLoad(o, seed)
			if err == nil && instant {
				s.cell.link, s.cell.core = s.cell.link*instantly, s.cell.core*instantly
			}
			return s, err
		}}
	}
	var points []point
	for _, instant := range []bool{false, true} {
		points = append(points, point{at(instant), plan{GreedyFairPreempts, func(*setting) (policy, error) {
			return &greedy{fair: true, preempts: true}, nil
		}}})
	}
	for _, a := range all {
		points = append(points, point{at(a.instant), plan{QuincyFairPreempts, func(s *setting) (policy, error) {
			p, err := newPlanned(s.cell, s.costs, true, true, false)
			if p != nil {
				p.without = a.cause
			}
			return p, err
		}}})
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Seeds < 2 {
		return nil, fmt.Errorf("causes: %d seeds: want 2 or more, since one has no interval", o.Seeds)
	}
	rows, err := o.rows(ctx, points)
	if err != nil {
		return nil, fmt.Errorf("causes: %w", err)
	}
	causes := make([]Cause, len(all))
	for i, a := range all {
		queues := rows[0]
		if a.instant {
			queues = rows[1]
		}
		causes[i] = compared(a.without, queues, rows[2+i])
	}
	base := apart(&causes[0], Lost)
	for i := range causes {
		causes[i].Change = interval.Paired(apart(&causes[i], Lost), base)
	}
	return causes, nil
}

// instantly is the factor by which the network is faster where data takes no time.
const instantly = 100_000

func compared(without string, queues, flow Row) Cause {
	c := Cause{Without: without, Queues: queues, Flow: flow}
	c.More = interval.Of(apart(&c, Lost))
	c.MoreForced = interval.Of(apart(&c, Forced))
	c.LostWithStops = interval.Of(apart(&c, Each))
	elective := apart(&c, Stopped)
	for i, forced := range apart(&c, Forced) {
		elective[i] -= forced
	}
	c.MoreElective = interval.Of(elective)
	return c
}

// apart is by how much Quincy has more of a figure than the queues, by seed.
func apart(c *Cause, figure string) []float64 {
	flow, queues := c.Flow.Figure(figure).Each, c.Queues.Figure(figure).Each
	all := make([]float64, len(flow))
	for i := range flow {
		all[i] = flow[i] - queues[i]
	}
	return all
}
