package experiments

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// Four frameworks share 96 machines, or have 24 each: NSDI 2011, section 6.1. The
// kinds are CPUs and GB. Their jobs are made up after the paper's description.
// The Facebook mix has small jobs and few large ones. Large Hadoop and Spark start
// the next job when one is done. MPI needs all tasks of a job at once.
const (
	sharingMachines = 96
	sharingSpan     = time.Hour // in which jobs come, and that is measured
	sharingTenants  = 4
)

func sharingPoints() []point {
	return []point{
		{name: "shared", run: func(ctx context.Context, seed uint64) ([]value, error) { return sharing(ctx, seed, false) }},
		{name: "static partitions", run: func(ctx context.Context, seed uint64) ([]value, error) { return sharing(ctx, seed, true) }},
	}
}

// sharer is one of the four: how it goes on after a job is up to it.
type sharer struct {
	*tenant
	r     stream
	name  string
	took  time.Duration // by its jobs, in sum
	done  int
	after func(s *sharer) error
}

// sharing runs all four, and says how much of the cell they used, and how long
// their jobs took in the mean.
func sharing(ctx context.Context, seed uint64, static bool) ([]value, error) {
	w, err := newWorld(seed, alike(sharingMachines, resources.Vector{4, 15}), offers.Config{})
	if err != nil {
		return nil, err
	}
	all := []*sharer{
		{name: "facebook", after: (*sharer).facebook},
		{name: "large", after: (*sharer).large},
		{name: "spark", after: (*sharer).spark},
		{name: "mpi", after: (*sharer).mpi},
	}
	const each = sharingMachines / sharingTenants
	for i, s := range all {
		r := offers.Registration{Name: s.name, Outstanding: 1}
		if static {
			r.Machines = w.mask(i*each, (i+1)*each)
		}
		if s.tenant, err = w.tenant(r); err != nil {
			return nil, err
		}
		s.r = w.stream(uint64(i))
		w.after(0, func() error { return s.after(s) })
	}
	var used [2]float64
	samples := 0
	var sample func() error
	sample = func() error {
		if w.now >= sharingSpan {
			return w.end()
		}
		w.after(10*time.Second, sample)
		samples++
		for _, s := range all {
			held, offered := s.Held()
			for kind, capacity := range [...]int64{4, 15} {
				used[kind] += float64(held[kind]-offered[kind]) / float64(capacity*sharingMachines)
			}
		}
		return nil
	}
	w.after(0, sample)
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	values := []value{
		{name: "CPU", value: used[0] / float64(samples)},
		{name: "memory", value: used[1] / float64(samples)},
	}
	for _, s := range all {
		values = append(values, value{name: s.name + " / s", value: s.took.Seconds() / float64(max(s.done, 1))})
	}
	return values, nil
}

// run submits a job; then is called when it is done, if not nil.
func (s *sharer) run(need resources.Vector, tasks int, mean time.Duration, rigid bool, then func() error) error {
	came := s.w.now
	j := &job{need: need, left: tasks, rigid: rigid}
	j.length = func() time.Duration { return time.Duration((0.5 + s.r.Float64()) * float64(mean)) }
	j.done = func() error {
		s.took += s.w.now - came
		s.done++
		if then == nil {
			return nil
		}
		return then()
	}
	return s.submit(j)
}

// again has the next job come in a time of that mean.
func (s *sharer) again(mean time.Duration) error {
	s.w.after(s.r.exponential(mean), func() error { return s.after(s) })
	return nil
}

// facebook has a job come every 20 s, however the others fared. Half of them
// are a task or two, one in twenty is 400.
func (s *sharer) facebook() error {
	sizes := [...]int{1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 10, 10, 10, 50, 50, 50, 100, 100, 200, 400}
	if err := s.run(resources.Vector{1, 2}, sizes[s.r.IntN(len(sizes))], 25*time.Second, false, nil); err != nil {
		return err
	}
	return s.again(20 * time.Second)
}

// large has a job of 1,200 tasks, and the next one two minutes after it.
func (s *sharer) large() error {
	return s.run(resources.Vector{1, 3}, 1200, 40*time.Second, false, func() error { return s.again(2 * time.Minute) })
}

// spark has ten iterations, one after the other, of tasks that are short and need
// memory, and then pauses for two minutes.
func (s *sharer) spark() error {
	left := 10
	var iterate func() error
	iterate = func() error {
		if left == 0 {
			return s.again(2 * time.Minute)
		}
		left--
		return s.run(resources.Vector{1, 6}, 150, 10*time.Second, false, iterate)
	}
	return iterate()
}

// mpi has a job of 8 to 64 processes every three minutes.
func (s *sharer) mpi() error {
	if err := s.run(resources.Vector{1, 1}, 8<<s.r.IntN(4), 2*time.Minute, true, nil); err != nil {
		return err
	}
	return s.again(3 * time.Minute)
}
