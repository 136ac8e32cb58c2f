package experiments

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// incentivePoints returns the behaviours that frameworks gain by, according to NSDI
// 2011, section 5.4. Each is the same work done in two ways, on the same cell with the
// same seed.
func incentivePoints() []point {
	return []point{
		{name: "short tasks", run: twice(shortTasks)},
		{name: "elastic use", run: twice(elasticUse)},
		{name: "only what is usable", run: twice(usableOnly)},
		{name: "no guaranteed share", run: twice(noMinimum)},
	}
}

// outcome is when the work was done, and how much of it was lost on the way.
type outcome struct{ took, lost time.Duration }

// twice runs an experiment the way that is worth it, and the other way.
func twice(run func(ctx context.Context, seed uint64, good bool) (outcome, error),
) func(ctx context.Context, seed uint64) ([]value, error) {
	return func(ctx context.Context, seed uint64) ([]value, error) {
		good, err := run(ctx, seed, true)
		if err != nil {
			return nil, err
		}
		bad, err := run(ctx, seed, false)
		if err != nil {
			return nil, err
		}
		return []value{
			{name: "done / s", value: good.took.Seconds()},
			{name: "else / s", value: bad.took.Seconds()},
			{name: "advantage", value: bad.took.Seconds() / good.took.Seconds()},
			{name: "lost / slot s", value: good.lost.Seconds()},
			{name: "else lost / slot s", value: bad.lost.Seconds()},
		}, nil
	}
}

// slot is the need of a task of these experiments.
var slot = resources.Vector{1}

// Sources of chance.
const (
	ours = iota
	theirs
	others
)

// lengths returns a function that draws times of that mean.
func (w *world) lengths(n uint64, mean time.Duration) func() time.Duration {
	random := w.stream(n)
	return func() time.Duration { return random.exponential(mean) }
}

// endless is more tasks than any run has time for.
const endless = 1 << 40

// shortTasks has the work in tasks of 20 s or of 600 s, half as much more or less. At
// most half of a machine may be long tasks. Every five minutes in the mean, a framework
// that is guaranteed ten machines wants them at once for one minute, and has the tasks
// there preempted.
func shortTasks(ctx context.Context, seed uint64, good bool) (outcome, error) {
	const machines, perMachine, work = 50, 4, 180_000 // slot seconds
	w, err := newWorld(seed, alike(machines, resources.Vector{perMachine}), offers.Config{LongOnMachine: 50})
	if err != nil {
		return outcome{}, err
	}
	if err := w.rival(20 * time.Second); err != nil {
		return outcome{}, err
	}
	urgent, err := w.add(offers.Registration{
		Name: "urgent", Guaranteed: resources.Vector{10 * perMachine}, Suppressed: true,
	}, nil)
	if err != nil {
		return outcome{}, err
	}
	waiting := false
	urgent.answered = func(a offers.Answer) error {
		waiting = false
		for _, o := range a.Offers {
			if err := urgent.start(o.ID, []task{{need: o.Room, length: time.Minute}}); err != nil {
				return err
			}
		}
		return a.Reason
	}
	urgent.offered = func(got []offers.Offer) error { return nil } // only the room that it asks for
	pause := w.lengths(others, 5*time.Minute)
	var ask func() error
	ask = func() error {
		w.after(pause(), ask)
		if waiting || len(urgent.running) > 0 {
			return nil
		}
		waiting = true
		_, err := urgent.Request(w.time(), offers.Request{
			Machines: 10, Each: resources.Vector{perMachine}, Revoke: true,
		})
		return err
	}
	w.after(pause(), ask)
	mean := 600 * time.Second
	if good {
		mean = 20 * time.Second
	}
	random := w.stream(ours)
	return w.measure(ctx, offers.Registration{Name: "job"}, &job{
		need: slot, left: work / int(mean.Seconds()), long: !good,
		length: func() time.Duration { return mean/2 + random.within(mean) },
	}, 0)
}

// elasticUse has the work use all idle room, or no more than its fair share.
// The other framework is idle half of the time.
func elasticUse(ctx context.Context, seed uint64, good bool) (outcome, error) {
	const slots = 200
	w, err := newWorld(seed, alike(slots, slot), offers.Config{})
	if err != nil {
		return outcome{}, err
	}
	other, err := w.tenant(offers.Registration{Name: "other"})
	if err != nil {
		return outcome{}, err
	}
	length := w.lengths(theirs, 20*time.Second)
	var come func() error
	come = func() error {
		w.after(10*time.Minute, come)
		return other.submit(&job{need: slot, left: slots / 2 * 15, length: length})
	}
	w.after(0, come)
	most := slots / 2
	if good {
		most = 0
	}
	return w.measure(ctx, offers.Registration{Name: "job"}, &job{
		need: slot, left: slots / 2 * 45, length: w.lengths(ours, 20*time.Second),
	}, most)
}

// usableOnly has a framework that needs GPUs say so, or take and pay for
// every offer. Three machines in ten have one.
func usableOnly(ctx context.Context, seed uint64, good bool) (outcome, error) {
	machines := alike(200, slot)
	for i := range machines {
		if i%10 < 3 {
			machines[i].Attributes = map[string]string{"gpu": "yes"}
		}
	}
	w, err := newWorld(seed, machines, offers.Config{})
	if err != nil {
		return outcome{}, err
	}
	if err := w.rival(30 * time.Second); err != nil {
		return outcome{}, err
	}
	length, left, running := w.lengths(ours, 30*time.Second), 2000, 0
	r := offers.Registration{Name: "job"}
	if good {
		r.Labels = map[string][]string{"gpu": nil}
	}
	_, err = w.add(r, func(_ *framework, o offers.Offer) []task {
		m, _ := w.cell.State(o.Machine)
		switch {
		case left > 0 && m.Attributes["gpu"] != "":
			left--
			running++
			return []task{{need: slot, length: length(), ended: func() error {
				if running--; left == 0 && running == 0 {
					return w.end()
				}
				return nil
			}}}
		case good:
			return nil
		}
		return []task{{need: slot, length: length()}} // holds it, does nothing
	})
	if err != nil {
		return outcome{}, err
	}
	err = w.run(ctx)
	return outcome{took: w.now}, err
}

// noMinimum has the job of [modelPoints] start with the first slot that it gets,
// or when it has all of its share.
func noMinimum(ctx context.Context, seed uint64, good bool) (outcome, error) {
	values, err := modelCase{exponential: true, rigid: !good, beta: 2}.run(ctx, seed)
	if err != nil {
		return outcome{}, err
	}
	return outcome{took: time.Duration(values[0].value * float64(modelTask))}, nil
}

// rival adds a framework that always has more tasks of one slot.
func (w *world) rival(mean time.Duration) error {
	t, err := w.tenant(offers.Registration{Name: "rival"})
	if err != nil {
		return err
	}
	return t.submit(&job{need: slot, left: endless, length: w.lengths(theirs, mean)})
}

// measure runs a job as a framework until it is done.
func (w *world) measure(ctx context.Context, r offers.Registration, j *job, most int) (outcome, error) {
	t, err := w.tenant(r)
	if err != nil {
		return outcome{}, err
	}
	t.most = most
	j.done = w.end
	if err := t.submit(j); err != nil {
		return outcome{}, err
	}
	err = w.run(ctx)
	return outcome{w.now, t.lost}, err
}
