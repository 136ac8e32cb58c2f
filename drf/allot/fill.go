package allot

import (
	"fmt"
	"iter"
	"slices"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Taker is a user among which [Fill] and [Divide] share out a total.
type Taker struct {
	// Demand is the amount that one of its tasks takes, in base units.
	Demand resources.Vector
	// Weight is the taker's weight; 0 means 1.
	Weight float64
	// Weights are the taker's weights by kind, as in [drf.Heap.SetWeights]. If they are
	// set, Weight plays no part.
	Weights *[resources.MaxKinds]float64
	// Tasks is the number of its tasks; 0 means without end.
	Tasks int64
}

// FillOptions is the rule by which a total is filled. The zero value is the rule of
// [drf.Heap.Pick]: shares are compared before the task, and a taker with a task that
// does not fit is passed over.
type FillOptions struct {
	// Stop ends the filling when the task of the poorest taker does not fit: Ghodsi
	// et al., NSDI 2011, Algorithm 1. Without it the others go on, such as takers
	// that do not use the kind that has run out.
	Stop bool
	// After orders takers by the share that they would have with their next task:
	// see [drf.Heap.OrderAfter].
	After bool
}

// Fill returns the number of tasks that each taker gets by progressive filling:
// each next task goes to the taker with the smallest weighted dominant share. Tasks
// are whole, and the total is free at first.
//
// The order is exact. Among equal shares the taker listed first comes first. A kind
// that the total has none of plays no part in any share, but a taker that demands
// it never fits. With Stop, the filling ends when such a taker is the poorest.
//
// Cost: O((n+t) log n) for n takers that get t tasks in all, and O(n) memory. One
// task is one step: to share out bytes, use tasks of many bytes, or [Divide].
//
// Errors name the taker by index: [drf.ErrWeight]; [drf.ErrEmpty] for a demand of nothing,
// which would fit for ever; [resources.ErrQuantity] for an invalid component or
// fewer than 0 tasks. For the total they are those of [drf.New].
func Fill(total resources.Vector, takers []Taker, o FillOptions) (tasks []int64, err error) {
	if err := checkFilling(total, takers); err != nil {
		return nil, err
	}
	tasks = make([]int64, len(takers))
	fill(total, takers, o, tasks, func(int) bool { return true })
	return tasks, nil
}

// FillOrder walks the takers, by index, in the order in which [Fill] gives them
// tasks.
//
// Each range over it begins anew. Takers are copied, but the Weights that they
// point to are not: these must not change. Cost: O(n log n) to begin a range, then
// O(log n) for a task, or for a taker with a task that no longer fits.
func FillOrder(total resources.Vector, takers []Taker, o FillOptions) (iter.Seq[int], error) {
	if err := checkFilling(total, takers); err != nil {
		return nil, err
	}
	takers = slices.Clone(takers)
	return func(yield func(int) bool) {
		fill(total, takers, o, make([]int64, len(takers)), yield)
	}, nil
}

// fill yields the takers in the order in which they get tasks, and counts these in got.
func fill(total resources.Vector, takers []Taker, o FillOptions, got []int64, yield func(int) bool) {
	h := filling(total, takers, o.After)
	free := total
	for u, ok := h.Pick(everything); ok; u, ok = h.Pick(everything) {
		i := u.Index()
		t := &takers[i]
		if !resources.Fits(&t.Demand, &free) {
			if o.Stop {
				return
			}
			// Free room only shrinks, so the task will not fit again.
			must(h.Park(u))
			continue
		}
		for k, q := range &t.Demand {
			free[k] -= q
		}
		if got[i]++; got[i] == t.Tasks {
			must(h.Park(u)) // first, so that it is not ranked for its last task
		}
		must(h.Charge(u, t.Demand))
		if !yield(i) {
			return
		}
	}
}

// everything has room for each valid task.
var everything = resources.Uniform(resources.MaxQuantity)

// filling returns a heap in which all takers wait. The number of a user is the index of
// its taker.
func filling(total resources.Vector, takers []Taker, after bool) *drf.Heap[int] {
	h, err := drf.New[int](total)
	must(err)
	h.OrderAfter(after)
	h.Grow(len(takers))
	for i := range takers {
		t := &takers[i]
		u, err := h.Add(i, t.weight(0))
		must(err)
		if t.Weights != nil {
			must(h.SetWeights(u, *t.Weights))
		}
		must(h.Demand(u, t.Demand))
	}
	return h
}

// must panics with an error of the heap: the input has been checked.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// weight returns the weight for a kind.
func (t *Taker) weight(kind int) float64 {
	switch {
	case t.Weights != nil:
		return t.Weights[kind]
	case t.Weight == 0:
		return 1
	default:
		return t.Weight
	}
}

func checkFilling(total resources.Vector, takers []Taker) error {
	if err := self.Some("total", total); err != nil {
		return err
	}
	for i := range takers {
		if takers[i].check("taker") != nil {
			return takers[i].check(fmt.Sprintf("taker %d", i))
		}
	}
	return nil
}

func (t *Taker) check(who string) error {
	if err := self.Some(who, t.Demand); err != nil {
		return err
	}
	if t.Tasks < 0 {
		return self.Refuse(resources.ErrQuantity, "%s: %d tasks, want 0 or more", who, t.Tasks)
	}
	if t.Weights == nil {
		return self.Weight(who, t.weight(0))
	}
	for _, w := range t.Weights {
		if err := self.Weight(who, w); err != nil {
			return err
		}
	}
	return nil
}
