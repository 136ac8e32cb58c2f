package main

import (
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// tree is the order of a tree of pools: one pool for each class of jobs, and in
// it one leaf for each sharer with jobs of that class, both shared by DRF; by
// submission within each.
type tree struct {
	tree    *pools.Tree[poolKey]
	leaves  map[poolKey]*leaf
	classes map[string]pools.Node
	asked   []*leaf // in this round
	aside   []*leaf // parked for the round
}

type poolKey struct {
	class string
	who   *sharer // nil for the pool itself
}

// leaf is the jobs that a sharer has in one class.
type leaf struct {
	node pools.Node
	jobs queue
}

func newPools(total resources.Vector) (order, error) {
	t, err := pools.New[poolKey](total, nil)
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
		if pool, err = t.tree.AddPool(t.tree.Root(), poolKey{class: key.class}, pools.Config{}); err != nil {
			return nil, err
		}
		t.classes[key.class] = pool
	}
	node, err := t.tree.AddJob(pool, key, pools.Config{Weight: key.who.weight})
	if err != nil {
		return nil, err
	}
	l := &leaf{node: node}
	t.leaves[key] = l
	return l, nil
}

// of returns the leaf of a job that has been pushed.
func (t *tree) of(j *job) *leaf { return t.leaves[poolKey{j.Class, j.who}] }

func (t *tree) drop(j *job) error {
	l := t.of(j)
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
		key, _ := t.tree.Key(node)
		l := t.leaves[key]
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

func (t *tree) charge(j *job, v resources.Vector) error { return t.tree.Charge(t.of(j).node, v) }
func (t *tree) credit(j *job, v resources.Vector) error { return t.tree.Credit(t.of(j).node, v) }
