package main

import (
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// tree is the order of a tree of pools. It has one pool for each class of jobs, and in
// it one leaf for each sharer with jobs of that class. Both are shared by DRF; within
// each, the order is by submission.
type tree struct {
	tree    *pools.Tree[*leaf]
	leaves  map[poolKey]*leaf
	classes map[string]pools.Node
	asked   []*leaf // in this round
	aside   []*leaf // parked for the round
}

type poolKey struct {
	class string
	who   *sharer
}

// leaf is the jobs that a sharer has in one class. Every job knows its own: a
// lookup by the name of the class for each task takes longer than the tree does.
type leaf struct {
	node pools.Node
	jobs queue
}

func newPools(total resources.Vector) (order, error) {
	t, err := pools.New[*leaf](total, nil)
	if err != nil {
		return nil, err
	}
	return &tree{tree: t, leaves: map[poolKey]*leaf{}, classes: map[string]pools.Node{}}, nil
}

func (t *tree) begin() {
	for _, l := range t.asked {
		l.jobs.begin()
	}
	for _, l := range t.aside {
		if len(l.jobs.jobs) > 0 {
			// It was accepted before and has not changed.
			_ = t.tree.Demand(l.node, l.jobs.jobs[0].bundles[0].need)
		}
	}
	t.asked, t.aside = t.asked[:0], t.aside[:0]
}

func (t *tree) push(j *job) error {
	l, err := t.leaf(poolKey{j.Class, j.who})
	if err != nil {
		return err
	}
	j.leaf = l
	if err := l.jobs.push(j); err != nil {
		return err
	}
	return t.tree.Demand(l.node, l.jobs.jobs[0].bundles[0].need)
}

// leaf returns the leaf of a key, and makes it and its pool where they are
// missing.
func (t *tree) leaf(key poolKey) (*leaf, error) {
	if l, ok := t.leaves[key]; ok {
		return l, nil
	}
	pool, ok := t.classes[key.class]
	if !ok {
		var err error
		if pool, err = t.tree.AddPool(t.tree.Root(), &leaf{}, pools.Config{}); err != nil {
			return nil, err
		}
		t.classes[key.class] = pool
	}
	l := &leaf{}
	var err error
	if l.node, err = t.tree.AddJob(pool, l, pools.Config{Weight: key.who.weight}); err != nil {
		return nil, err
	}
	t.leaves[key] = l
	return l, nil
}

func (t *tree) drop(j *job) error {
	l := j.leaf
	if err := l.jobs.drop(j); err != nil || len(l.jobs.jobs) > 0 {
		return err
	}
	return t.tree.Park(l.node)
}

func (t *tree) next(fits func(*job) bool) *job {
	for {
		node, ok := t.tree.Pick(everything())
		if !ok {
			return nil
		}
		l, _ := t.tree.Key(node)
		if !l.jobs.asked {
			t.asked = append(t.asked, l)
		}
		if j := l.jobs.next(fits); j != nil {
			return j
		}
		_ = t.tree.Park(node) // for the round; it is there
		t.aside = append(t.aside, l)
	}
}

func (t *tree) charge(j *job, v resources.Vector) error { return t.tree.Charge(j.leaf.node, v) }
func (t *tree) credit(j *job, v resources.Vector) error { return t.tree.Credit(j.leaf.node, v) }
