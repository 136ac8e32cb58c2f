package quincy

import (
	"github.com/cellsched/cellsched/internal/fault"
	net "github.com/cellsched/cellsched/internal/slots"
	"github.com/cellsched/cellsched/locality"
)

const (
	// MaxSlots is the largest number of slots of a machine, and of shares of a
	// job.
	MaxSlots = 1 << 20
	// maxTime is the latest time, and the longest: 8 years in seconds. With
	// rates of at most 2^15 it keeps costs within 2^44.
	maxTime = 1 << 28
)

// Config is the configuration of a [Planner].
type Config[T comparable] struct {
	// Arcs appends the present arcs of a task to arcs. It is called in these cases,
	// and not for time that passes or a plan that leaves the task at its place:
	//
	//   - the task is added or updated;
	//   - a plan places, moves or preempts it;
	//   - a machine that it has an arc to is removed, or a rack with its last
	//     machine.
	//
	// A running task needs an arc to its machine. A task without any other arc is not
	// preempted. Arcs must not call the planner, nor keep the slice. If it has panicked,
	// the planner must not be used again.
	Arcs func(arcs []Arc, task T, s State, now int64) []Arc
	// Verify lets every plan be proved optimal, from the solver's prices: no arc
	// with room has a negative reduced cost. It takes O(arcs) a plan, and the error
	// is [ErrNotOptimal], which no input leads to.
	Verify bool
}

// Planner keeps tasks, jobs and machines, and plans in rounds the machine of each
// task, at least cost.
//
// A plan counts as carried out: the next one starts from there. Times are numbers
// from 0 to 2^28, in a unit and from a moment of the caller's choice, and
// never go back. A call that fails changes nothing, unless its doc says otherwise.
// The same calls in the same order return the same plans. It holds 1,048,573 machines,
// racks and jobs, all together; a rack is there while it has machines. A Planner
// belongs to one goroutine. Methods of a nil or zero Planner fail with
// [resources.ErrNil], or return nothing.
type Planner[J, T comparable] struct {
	cfg     Config[T]
	net     *net.Net
	cluster net.Loc
	now     int64

	racks     Racks
	rackAt    numbered[Rack, net.Loc]
	machineAt numbered[locality.Node, net.Loc]
	targets   []Target  // by location
	owners    []*job[J] // by location: the job of the tasks that wait there
	jobs      map[J]*job[J]
	numbers   map[T]int32 // of tasks, in the net
	tasks     []task[J, T]
	running   int
	failed    error // the error of the last plan
	refused   int64 // Relaxed of the net when it was found infeasible

	asks    int64   // number of calls of Arcs
	asked   []int64 // by location: the last of them that had an arc there
	arcs    []Arc   // scratch
	options []net.Option
	changes []Change[T]
	round   int64
	movers  []int32 // scratch of stay
	leaving taskSet
}

type job[J comparable] struct {
	key            J
	at             net.Loc // location of its waiting tasks
	low, top       int     // shares
	tasks, running int
}

type task[J, T comparable] struct {
	key   T
	job   *job[J]
	state State
	live  bool
	round int64 // the last plan that looked at it: once is enough, and it may have lost its place by then
}

// New returns a planner without machines. The error is [ErrArc] if Arcs is
// missing.
func New[J, T comparable](cfg Config[T]) (*Planner[J, T], error) {
	if cfg.Arcs == nil {
		return nil, refuse(ErrArc, "config without Arcs, want a function")
	}
	p := &Planner[J, T]{
		cfg: cfg, net: net.New(),
		jobs: map[J]*job[J]{}, numbers: map[T]int32{},
	}
	p.cluster = p.net.AddGroup(net.Sink)
	p.name(p.cluster, Cluster())
	return p, nil
}

// none reports whether p is nil, or not made by [New].
func (p *Planner[J, T]) none() bool { return p == nil || p.net == nil }

// Machine is a machine for [Planner.AddMachine].
type Machine struct {
	Node  locality.Node
	Rack  Rack
	Slots int
}

// AddMachine adds a machine. Arcs of present tasks do not lead to it before the
// planner asks for them again; those to its rack and to the cluster do. Cost: O(1)
// amortized. Errors: [ErrDuplicate], and [ErrRange] for slots, and for more than
// 1,048,573 machines, racks and jobs together.
func (p *Planner[J, T]) AddMachine(m Machine) error {
	if p.none() {
		return absent("planner")
	}
	if p.machineAt.get(m.Node) != net.Sink {
		return refuse(ErrDuplicate, "machine %d", m.Node)
	}
	if err := checkSlots(m.Node, m.Slots, 1); err != nil {
		return err
	}
	if err := p.checkSize(); err != nil {
		return refuse(err, "machine %d", m.Node)
	}
	rack := p.rackAt.get(m.Rack)
	if rack == net.Sink {
		rack = p.net.AddGroup(p.cluster)
		p.rackAt.set(m.Rack, rack)
		p.name(rack, InRack(m.Rack))
	}
	at := p.net.AddLeaf(rack)
	p.net.SetLeaf(at, 0, m.Slots)
	p.machineAt.set(m.Node, at)
	p.name(at, OnMachine(m.Node))
	p.racks.add(m.Node, m.Rack)
	return nil
}

// SetSlots changes the number of slots of a machine; 0 are possible for a while.
// The next plan moves or preempts tasks that no longer fit. To drain a machine, or
// when it is lost, remove it. Cost: O(1). Errors: [ErrUnknown], [ErrRange].
func (p *Planner[J, T]) SetSlots(n locality.Node, slots int) error {
	if p.none() {
		return absent("planner")
	}
	at := p.machineAt.get(n)
	if at == net.Sink {
		return refuse(ErrUnknown, "machine %d", n)
	}
	if err := checkSlots(n, slots, 0); err != nil {
		return err
	}
	p.net.SetLeaf(at, 0, slots)
	return nil
}

func checkSlots(n locality.Node, slots, least int) error {
	if slots < least || slots > MaxSlots {
		return refuse(ErrRange, "machine %d: %d slots, want %d to %d", n, slots, least, MaxSlots)
	}
	return nil
}

// AddJob adds a job with low to top running tasks in every plan (E and F of the
// paper), or all of its tasks if these are fewer than low. Cost: O(1) amortized.
// Errors: [ErrDuplicate], and [ErrRange] for shares, and for more than 1,048,573
// machines, racks and jobs together.
func (p *Planner[J, T]) AddJob(j J, low, top int) error {
	if p.none() {
		return absent("planner")
	}
	if _, ok := p.jobs[j]; ok {
		return refuse(ErrDuplicate, "job %s", fault.Key(j))
	}
	if err := checkShares(j, low, top); err != nil {
		return err
	}
	if err := p.checkSize(); err != nil {
		return refuse(err, "job %s", fault.Key(j))
	}
	known := &job[J]{key: j, at: p.net.AddLeaf(net.Sink), low: low, top: top}
	p.jobs[j] = known
	p.name(known.at, Unscheduled())
	p.owners[known.at] = known
	return nil
}

// SetShares changes the bounds of a job, from the next plan on. Cost: O(1).
// Errors: [ErrUnknown], [ErrRange].
func (p *Planner[J, T]) SetShares(j J, low, top int) error {
	if p.none() {
		return absent("planner")
	}
	known, ok := p.jobs[j]
	if !ok {
		return refuse(ErrUnknown, "job %s", fault.Key(j))
	}
	if err := checkShares(j, low, top); err != nil {
		return err
	}
	known.low, known.top = low, top
	p.balance(known)
	return nil
}

func checkShares[J comparable](j J, low, top int) error {
	if low < 0 || top < low || top > MaxSlots {
		return refuse(ErrRange, "job %s: shares of %d to %d, want 0 <= low <= top <= %d", fault.Key(j), low, top, MaxSlots)
	}
	return nil
}

// RemoveJob removes a job without tasks. Cost: O(1). Errors: [ErrUnknown],
// [ErrInUse].
func (p *Planner[J, T]) RemoveJob(j J) error {
	if p.none() {
		return absent("planner")
	}
	known, ok := p.jobs[j]
	switch {
	case !ok:
		return refuse(ErrUnknown, "job %s", fault.Key(j))
	case known.tasks > 0:
		return refuse(ErrInUse, "job %s has %d tasks", fault.Key(j), known.tasks)
	}
	p.drop(known.at)
	delete(p.jobs, j)
	return nil
}

// checkSize returns an error unless there is room for a machine and a rack more.
func (p *Planner[J, T]) checkSize() error {
	const others = 2 // the sink and the cluster
	if n := p.net.Len(); n+2 > net.MaxLocations {
		return refuse(ErrRange, "there are %d machines, racks and jobs, want room for 2 more of %d", n-others, net.MaxLocations-others)
	}
	return nil
}

// name records the target of location at.
func (p *Planner[J, T]) name(at net.Loc, t Target) {
	for len(p.targets) <= int(at) {
		p.targets = append(p.targets, Target{})
		p.owners = append(p.owners, nil)
		p.asked = append(p.asked, 0)
	}
	p.targets[at] = t
}

func (p *Planner[J, T]) targetOf(at net.Loc) Target { return p.targets[at] }

// drop forgets a location that no task leads to.
func (p *Planner[J, T]) drop(at net.Loc) {
	p.net.Drop(at)
	p.targets[at], p.owners[at] = Target{}, nil
}

// balance sets the capacities at the place where the tasks of j wait. Of n tasks n
// - F have to wait, and F - E more may.
func (p *Planner[J, T]) balance(j *job[J]) {
	top, low := min(j.top, j.tasks), min(j.low, j.tasks)
	p.net.SetLeaf(j.at, j.tasks-top, top-low)
}
