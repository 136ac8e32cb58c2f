package drf

import (
	"fmt"
	"iter"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// Taker is a user of a filling: what [Fill] and [Divide] share a total among.
type Taker struct {
	// Demand is what one of its tasks takes, in base units.
	Demand resources.Vector
	// Weight is what it counts; 0 is 1.
	Weight float64
	// Weights, where there are any, are its weights by kind, as in
	// [Heap.SetWeights]. Weight then plays no part.
	Weights *[resources.MaxKinds]float64
	// Tasks is how many it has; 0 is without end.
	Tasks int64
}

// FillOptions says by which rule a total is filled. The zero value is that of
// [Heap.Pick]: shares are compared before the task, and who does not fit is
// passed over.
type FillOptions struct {
	// Stop ends the filling where the task of the poorest does not fit:
	// Ghodsi et al., NSDI 2011, Algorithm 1. Without it, others go on, such as
	// those who do not use what has run out.
	Stop bool
	// After orders takers by the share that they would have with their next
	// task: see [Heap.OrderAfter].
	After bool
}

// Fill says how many tasks each taker gets when the next one goes, again and
// again, to the one with the smallest weighted dominant share: progressive
// filling for tasks that are not divisible, of a total that nobody holds any
// of.
//
// Order is exact, and of equal shares that of the taker listed first comes
// first. A kind of which the total has none plays no part in any share, but
// who demands it never fits; with Stop, the filling ends where such a taker is
// the poorest.
//
// Cost: O((n+t) log n) for n takers who get t tasks in all, and O(n) memory.
// One task is one step: who shares out bytes should do so in tasks of many, or
// by [Divide]. Errors name the taker, by its index: an [ErrWeight], an
// [ErrEmpty] for a demand of nothing, which would fit for ever, and a
// [resources.ErrQuantity] for an invalid component or fewer than 0 tasks; for
// the total they are those of [New].
func Fill(total resources.Vector, takers []Taker, o FillOptions) (tasks []int64, err error) {
	order, err := FillOrder(total, takers, o)
	if err != nil {
		return nil, err
	}
	tasks = make([]int64, len(takers))
	for i := range order {
		tasks[i]++
	}
	return tasks, nil
}

// FillOrder is [Fill], task by task: it walks the takers, by index, in the order
// in which they get tasks.
//
// Each range over it begins anew. Takers are copied, but not the Weights that
// they point to, which must not change. Cost: O(n) to begin a range, then
// O(log n) for a task, or for a taker whose task does not fit any more.
func FillOrder(total resources.Vector, takers []Taker, o FillOptions) (iter.Seq[int], error) {
	if err := checkFilling(total, takers); err != nil {
		return nil, err
	}
	takers = slices.Clone(takers)
	return func(yield func(int) bool) {
		t := takersTree(total, takers, o.After)
		got := make([]int64, len(takers))
		free := total
		for slot := t.first(); slot != none; slot = t.first() {
			need := &takers[slot].Demand
			left, fits := free.Sub(*need)
			if !fits {
				if o.Stop {
					return
				}
				// What is free only gets less: it will not fit again.
				t.retire(slot)
				continue
			}
			free = left
			t.accounts[slot].usage = t.accounts[slot].usage.Add(*need)
			if got[slot]++; got[slot] == takers[slot].Tasks {
				t.retire(slot)
			} else {
				t.rank(slot)
			}
			if !yield(int(slot)) {
				return
			}
		}
	}, nil
}

// takersTree returns a tree in which all takers wait. Their slots are their
// indices.
func takersTree(total resources.Vector, takers []Taker, after bool) *tree {
	t := &tree{after: after}
	t.reserve(len(takers))
	t.setTotal(total)
	for i := range takers {
		slot, taker := t.grow(), &takers[i]
		t.accounts[slot] = account{weight: taker.weight(0), seq: uint64(i), gen: 1, demand: unwanted}
		if taker.Weights != nil {
			if t.scales == nil {
				t.scales = make([]*[resources.MaxKinds]float64, i+1, len(takers))
			}
			t.scales[slot] = taker.Weights
		}
		t.want(slot, taker.Demand)
	}
	t.settle()
	return t
}

// retire takes a taker out of a filling.
func (t *tree) retire(slot uint32) {
	t.unrank(slot)
	t.want(slot, unwanted)
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
	if err := checkSome("total", total); err != nil {
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
	if err := checkSome(who, t.Demand); err != nil {
		return err
	}
	if t.Tasks < 0 {
		return refuse(resources.ErrQuantity, "%s: %d tasks, want 0 or more", who, t.Tasks)
	}
	if t.Weights == nil {
		return checkWeight(who, t.weight(0))
	}
	for _, w := range t.Weights {
		if err := checkWeight(who, w); err != nil {
			return err
		}
	}
	return nil
}
