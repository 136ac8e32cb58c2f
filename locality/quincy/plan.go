package quincy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	net "github.com/cellsched/cellsched/internal/slots"
	"github.com/cellsched/cellsched/locality"
)

// Action is the kind of a [Change].
type Action uint8

const (
	// Place starts a task that waited.
	Place Action = iota
	// Move stops a task and starts it again on another machine.
	Move
	// Preempt stops a task, which waits from now on.
	Preempt
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case Place:
		return "place"
	case Move:
		return "move"
	case Preempt:
		return "preempt"
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Change is the change of one task by a plan.
type Change[T comparable] struct {
	Action   Action
	Task     T
	From, To locality.Node // From of Move and Preempt, To of Place and Move
	// Cost is the task's share of the plan's cost.
	Cost int64
}

// Plan is the difference between two rounds.
type Plan[T comparable] struct {
	// Changes are in this order: those that preempt, those that move, those that
	// place. Tasks may move to slots that others leave, in circles too: stop all
	// that are preempted or moved before any task starts. The slice is the
	// planner's, until the next plan.
	Changes []Change[T]
	// Cost is the cost of all arcs in use, also of tasks that do not change.
	Cost int64
	// Waiting is the number of tasks that wait from now on. The others run.
	Waiting int
}

// Plan finds the placement of least cost at the time now, and returns the changes
// for it.
//
// Among plans of equal cost it prefers few moves and preemptions. Some tasks move anyway.
// If relocating a few of them lets a running task stay at equal cost, it stays.
//
// Errors: the cause of ctx if that is cancelled; [ErrTime] for a bad now; [ErrInfeasible]
// if not every task can be placed or wait within its job's shares. These keep the placement
// before. A plan fails with the same ErrInfeasible as the last one, in O(1), if nothing has
// changed since that could mend it: costs, time, fewer arcs or fewer slots cannot.
// Config.Arcs may return invalid arcs after a change. The task then keeps its former
// arcs, the error says so, and the plan is valid.
//
// Cost: that of the solver, near O(changes) while slots are free, and a call of
// Arcs for each change. If time has passed it looks at each task, and at the arcs
// of tasks with costs that grow faster at their place than elsewhere.
func (p *Planner[J, T]) Plan(ctx context.Context, now int64) (Plan[T], error) {
	if p.none() {
		return Plan[T]{}, absent("planner")
	}
	if ctx.Err() != nil {
		return Plan[T]{}, fmt.Errorf("quincy: plan: %w", context.Cause(ctx))
	}
	if err := p.check(now); err != nil {
		return Plan[T]{}, refuse(err, "plan")
	}
	p.now = now
	if errors.Is(p.failed, ErrInfeasible) && p.net.Relaxed() == p.refused {
		return Plan[T]{}, p.failed
	}
	p.failed = nil
	switch err := p.net.Solve(ctx, now); {
	case errors.Is(err, net.ErrInfeasible):
		p.failed, p.refused = p.infeasible(), p.net.Relaxed()
	case err != nil:
		p.failed = refuse(err, "plan")
	}
	if p.failed != nil {
		return Plan[T]{}, p.failed
	}
	slices.Sort(p.net.Touched()) // changes come in an order of their own, and memory is read in order
	p.stay()
	if p.cfg.Verify {
		if err := p.net.Verify(); err != nil {
			return Plan[T]{}, refuse(err, "plan")
		}
	}
	touched := p.net.Touched()
	slices.Sort(touched) // a few came since
	p.changes = p.changes[:0]
	p.round++
	plan := Plan[T]{Cost: p.net.Cost()}
	var errs []error
	// Running tasks come first, so that they stay where they can: Below prefers
	// them.
	for _, running := range []bool{true, false} {
		for _, number := range touched {
			if it := &p.tasks[number]; !it.live || it.state.Running != running || it.round == p.round {
				continue
			}
			if err := p.follow(number, now); err != nil {
				errs = append(errs, err)
			}
		}
	}
	p.net.Forget()
	slices.SortStableFunc(p.changes, func(a, b Change[T]) int { return int(b.Action) - int(a.Action) })
	plan.Changes = p.changes
	plan.Waiting = len(p.numbers) - p.running
	return plan, errors.Join(errs...)
}

// follow records the solver's place of a task, and asks for its arcs again if that
// is new. A running task sits at its machine from then on, not at rack or cluster,
// so that no other one is sent there in its stead.
func (p *Planner[J, T]) follow(number int32, now int64) error {
	it := &p.tasks[number]
	it.round = p.round
	prefer := net.Sink
	if it.state.Running {
		prefer = p.machineAt.get(it.state.On)
	}
	leaf := p.net.Below(number, prefer)
	at, cost, _ := p.net.At(number)
	before := it.state
	to := p.targetOf(leaf)
	node, placed := locality.Node(to.at), to.kind == toMachine
	c := Change[T]{Task: it.key, From: before.On, To: node, Cost: cost}
	stays := !placed && !before.Running || placed && before.Running && node == before.On
	switch {
	case stays && at == leaf:
		return nil
	case stays: // it sits above the machine where it runs, to which it has an arc
		p.net.ReplaceAt(number, leaf, p.former(number, leaf, cost))
		return nil
	case !placed:
		c.Action = Preempt
		it.stop(now)
		p.runs(it.job, -1)
	case before.Running:
		c.Action = Move
		it.start(node, now)
	default:
		it.start(node, now)
		p.runs(it.job, 1)
	}
	p.changes = append(p.changes, c)
	options, err := p.ask(it, now)
	if err != nil {
		options = p.former(number, leaf, cost)
	}
	p.net.ReplaceAt(number, leaf, options)
	return err
}

// former returns the options that a task has, and if there is none at leaf, one
// more there at cost.
func (p *Planner[J, T]) former(number int32, leaf net.Loc, cost int64) []net.Option {
	p.options = p.net.Options(p.options[:0], number)
	for _, o := range p.options {
		if o.At == leaf {
			return p.options
		}
	}
	p.options = append(p.options, net.Option{Base: cost, At: leaf})
	return p.options
}

// Placed returns the machine of a task by the last plan; false if it waits, or is
// unknown. Cost: O(1).
func (p *Planner[J, T]) Placed(t T) (locality.Node, bool) {
	if p.none() {
		return 0, false
	}
	number, ok := p.numbers[t]
	if !ok || !p.tasks[number].state.Running {
		return 0, false
	}
	return p.tasks[number].state.On, true
}

// Waiting walks the tasks that wait by the last plan, with the cost of each at that
// time. The order is the same for the same calls. The loop body must not change the
// planner. Cost: O(tasks).
func (p *Planner[J, T]) Waiting() iter.Seq2[T, int64] {
	return func(yield func(T, int64) bool) {
		if p.none() {
			return
		}
		for number := range p.tasks {
			it := &p.tasks[number]
			if !it.live || it.state.Running {
				continue
			}
			if _, cost, placed := p.net.At(int32(number)); placed && !yield(it.key, cost) {
				return
			}
		}
	}
}

// WriteNetwork writes the problem at the time now, the cost of the next plan, in the
// DIMACS format for other solvers. Tasks are its first nodes. Costs may have grown beyond
// [MaxCost] by then. Errors are the writer's. Cost: O(arcs).
func (p *Planner[J, T]) WriteNetwork(w io.Writer, now int64) error {
	switch {
	case p.none():
		return absent("planner")
	case w == nil:
		return absent("writer")
	}
	return p.net.Graph(now).Write(w)
}
