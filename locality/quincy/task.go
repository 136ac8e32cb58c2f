package quincy

import (
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	net "github.com/cellsched/cellsched/internal/slots"
	"github.com/cellsched/cellsched/locality"
)

// AddTask adds a task of job j, which waits from now on. It asks for the task's
// arcs at once; if they are invalid, the task is not added.
//
// Cost: a call of Arcs, and O(arcs) amortized; all that is allocated is room for
// more tasks. Errors: [ErrUnknown] for the job or the end of an arc,
// [ErrDuplicate], [ErrArc], [ErrTime].
func (p *Planner[J, T]) AddTask(t T, j J, now int64) error {
	if p.none() {
		return absent("planner")
	}
	return p.add(t, j, State{Since: now}, now)
}

// AddRunning adds a task of job j that runs on the machine on already. Since may be
// before any time of the planner, and waited is its total wait before that. The
// next plan leaves it there, moves it or preempts it. Cost and errors: as
// [Planner.AddTask].
func (p *Planner[J, T]) AddRunning(t T, j J, on locality.Node, since, waited, now int64) error {
	if p.none() {
		return absent("planner")
	}
	if err := p.check(now); err != nil {
		return refuse(err, "task %s", fault.Key(t))
	}
	if p.machineAt.get(on) == net.Sink {
		return refuse(ErrUnknown, "task %s: machine %d", fault.Key(t), on)
	}
	if since > now || since < now-maxTime {
		return refuse(ErrTime, "task %s: runs since %d, want %d to %d", fault.Key(t), since, now-maxTime, now)
	}
	if waited < 0 || waited > maxTime {
		return refuse(ErrTime, "task %s: has waited for %d, want 0 to %d", fault.Key(t), waited, int64(maxTime))
	}
	return p.add(t, j, State{Running: true, On: on, Since: since, Waited: waited}, now)
}

func (p *Planner[J, T]) add(t T, j J, s State, now int64) error {
	known, ok := p.jobs[j]
	if !ok {
		return refuse(ErrUnknown, "task %s: job %s", fault.Key(t), fault.Key(j))
	}
	if _, ok := p.numbers[t]; ok {
		return refuse(ErrDuplicate, "task %s", fault.Key(t))
	}
	if err := p.check(now); err != nil {
		return refuse(err, "task %s", fault.Key(t))
	}
	s.Racks = &p.racks
	it := task[J, T]{key: t, job: known, state: s, live: true}
	options, err := p.ask(&it, now)
	if err != nil {
		return err
	}
	p.now = now
	number := p.net.Add(options)
	p.numbers[t] = number
	if int(number) == len(p.tasks) { // the net's numbers are dense
		if len(p.tasks) == cap(p.tasks) {
			// Twice the room, where append adds a quarter: tasks come by the
			// hundred thousand, and each step copies them all.
			p.tasks = slices.Grow(p.tasks, max(16, len(p.tasks)))
		}
		p.tasks = append(p.tasks, task[J, T]{})
	}
	p.tasks[number] = it
	known.tasks++
	if s.Running {
		p.runs(known, 1)
	}
	p.balance(known)
	return nil
}

// RemoveTask forgets a task: it has ended, or is no longer wanted. Its slot is
// free in the next plan. Cost: O(arcs of the task). The error is [ErrUnknown].
func (p *Planner[J, T]) RemoveTask(t T) error {
	if p.none() {
		return absent("planner")
	}
	number, ok := p.numbers[t]
	if !ok {
		return refuse(ErrUnknown, "task %s", fault.Key(t))
	}
	it := &p.tasks[number]
	p.net.Remove(number)
	it.job.tasks--
	if it.state.Running {
		p.runs(it.job, -1)
	}
	p.balance(it.job)
	delete(p.numbers, t)
	*it = task[J, T]{}
	return nil
}

// UpdateTask asks for the arcs of a task again, after its data has moved or
// machines have come. If they are invalid, it keeps the old ones. Cost: a call of
// Arcs, and O(arcs of the task). Errors: [ErrUnknown] for the task or the end of an
// arc, [ErrArc], [ErrTime].
func (p *Planner[J, T]) UpdateTask(t T, now int64) error {
	if p.none() {
		return absent("planner")
	}
	number, ok := p.numbers[t]
	if !ok {
		return refuse(ErrUnknown, "task %s", fault.Key(t))
	}
	if err := p.check(now); err != nil {
		return refuse(err, "task %s", fault.Key(t))
	}
	options, err := p.ask(&p.tasks[number], now)
	if err != nil {
		return err
	}
	p.now = now
	p.net.SetOptions(number, options)
	return nil
}

// RemoveMachine removes a machine, and with the last one of a rack the rack. Its
// tasks wait from now on. All tasks with an arc to it, or to the removed rack, are
// asked for their arcs again; if these are invalid, nothing changes.
//
// Cost: O(machines of the rack), or with the last one O(racks), and for each of
// those tasks a call of Arcs and O(its arcs). Errors: [ErrUnknown], [ErrTime], and
// those of arcs.
func (p *Planner[J, T]) RemoveMachine(n locality.Node, now int64) error {
	if p.none() {
		return absent("planner")
	}
	at := p.machineAt.get(n)
	if at == net.Sink {
		return refuse(ErrUnknown, "machine %d", n)
	}
	if err := p.check(now); err != nil {
		return refuse(err, "machine %d", n)
	}
	rack, _ := p.racks.Of(n)
	above := p.rackAt.get(rack)
	undo := p.racks.remove(n)
	p.machineAt.set(n, net.Sink)

	var numbers []int32
	leading := func(t int32) { numbers = append(numbers, t) }
	p.net.Leading(at, leading)
	last := len(p.racks.Nodes(rack)) == 0
	if last {
		p.rackAt.set(rack, net.Sink)
		p.net.Leading(above, leading)
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	all := make([][]net.Option, len(numbers))
	for i, number := range numbers {
		it := p.tasks[number] // a copy
		if it.state.Running && it.state.On == n {
			it.stop(now)
		}
		options, err := p.ask(&it, now)
		if err != nil {
			undo()
			p.machineAt.set(n, at)
			p.rackAt.set(rack, above)
			return refuse(err, "without machine %d", n)
		}
		all[i] = slices.Clone(options)
	}
	p.now = now
	for i, number := range numbers {
		if it := &p.tasks[number]; it.state.Running && it.state.On == n {
			it.stop(now)
			p.runs(it.job, -1)
		}
		p.net.SetOptions(number, all[i])
	}
	p.drop(at)
	if last {
		p.drop(above)
		p.racks.drop(rack)
	}
	return nil
}

// check returns an error for an invalid time.
func (p *Planner[J, T]) check(now int64) error {
	if now < p.now || now > maxTime {
		return refuse(ErrTime, "time %d, want %d to %d", now, p.now, int64(maxTime))
	}
	return nil
}

// start notes that t runs on n from now on.
func (t *task[J, T]) start(n locality.Node, now int64) {
	if !t.state.Running {
		t.state.Waited += now - t.state.Since
	}
	t.state.Running, t.state.On, t.state.Since = true, n, now
}

// runs counts the tasks that run.
func (p *Planner[J, T]) runs(j *job[J], more int) {
	j.running += more
	p.running += more
}

// stop notes that t waits from now on.
func (t *task[J, T]) stop(now int64) {
	t.state.Running, t.state.On, t.state.Since = false, 0, now
}

// ask returns the options of t. The slice is valid until the next ask.
func (p *Planner[J, T]) ask(t *task[J, T], now int64) ([]net.Option, error) {
	p.arcs = p.cfg.Arcs(p.arcs[:0], t.key, t.state, now)
	p.options = p.options[:0]
	if len(p.arcs) == 0 {
		return nil, refuse(ErrArc, "task %s has no arcs, want one at least", fault.Key(t.key))
	}
	runs := !t.state.Running
	p.asks++
	for _, a := range p.arcs {
		at := p.locate(t.job, a.To)
		if at == net.Sink {
			return nil, refuse(ErrUnknown, "task %s: arc to %v", fault.Key(t.key), a.To)
		}
		if a.Cost > MaxCost || a.Cost < -MaxCost {
			return nil, refuse(ErrArc, "task %s: arc to %v: cost %d, want within ±%d", fault.Key(t.key), a.To, a.Cost, int64(MaxCost))
		}
		if a.Rate > maxRate || a.Rate < -maxRate {
			return nil, refuse(ErrArc, "task %s: arc to %v: rate %d, want within ±%d", fault.Key(t.key), a.To, a.Rate, maxRate)
		}
		if p.asked[at] == p.asks {
			return nil, refuse(ErrArc, "task %s: two arcs to %v", fault.Key(t.key), a.To)
		}
		p.asked[at] = p.asks
		runs = runs || a.To == OnMachine(t.state.On)
		p.options = append(p.options, net.Option{Base: a.Cost - int64(a.Rate)*now, Slope: a.Rate, At: at})
	}
	if !runs {
		return nil, refuse(ErrArc, "task %s runs on machine %d and has no arc to it, want one", fault.Key(t.key), t.state.On)
	}
	return p.options, nil
}

// locate returns the location of t in the net; the sink if it is not there.
func (p *Planner[J, T]) locate(j *job[J], t Target) net.Loc {
	switch t.kind {
	case toCluster:
		return p.cluster
	case toRack:
		return p.rackAt.get(Rack(t.at))
	case toMachine:
		return p.machineAt.get(locality.Node(t.at))
	case toUnscheduled:
		return j.at
	}
	return net.Sink
}
