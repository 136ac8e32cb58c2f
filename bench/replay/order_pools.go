package main

import (
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// tree is the order of a tree of pools: one pool for each class of jobs, and in
// it one leaf for each sharer, both shared by DRF; by submission within each.
type tree struct {
	tree    *pools.Tree[poolKey]
	leaves  map[*sharer]pools.Node
	classes map[string]pools.Node
	all     []*sharer
	aside   []*sharer // parked for the round
}

type poolKey struct {
	class string
	who   *sharer
}

func newPools(total resources.Vector) (order, error) {
	t, err := pools.New[poolKey](total, nil)
	if err != nil {
		return nil, err
	}
	return &tree{tree: t, leaves: map[*sharer]pools.Node{}, classes: map[string]pools.Node{}}, nil
}

func (t *tree) begin() {
	for _, s := range t.all {
		s.jobs.begin()
	}
	for _, s := range t.aside {
		if len(s.jobs.jobs) > 0 {
			// It was accepted before and has not changed.
			_ = t.tree.Demand(t.leaves[s], s.jobs.jobs[0].bundles[0].need)
		}
	}
	t.aside = t.aside[:0]
}

func (t *tree) push(j *job) error {
	s := j.who
	leaf, ok := t.leaves[s]
	if !ok {
		pool, ok := t.classes[j.Class]
		if !ok {
			var err error
			if pool, err = t.tree.AddPool(t.tree.Root(), poolKey{class: j.Class}, pools.Config{}); err != nil {
				return err
			}
			t.classes[j.Class] = pool
		}
		var err error
		if leaf, err = t.tree.AddJob(pool, poolKey{j.Class, s}, pools.Config{Weight: s.weight}); err != nil {
			return err
		}
		t.leaves[s] = leaf
		t.all = append(t.all, s)
	}
	if err := s.jobs.push(j); err != nil {
		return err
	}
	return t.tree.Demand(leaf, s.jobs.jobs[0].bundles[0].need)
}

func (t *tree) drop(j *job) error {
	s := j.who
	if err := s.jobs.drop(j); err != nil || len(s.jobs.jobs) > 0 {
		return err
	}
	return t.tree.Park(t.leaves[s])
}

func (t *tree) next(fits func(*job) bool) *job {
	byLeaf := func(n pools.Node) *sharer {
		k, _ := t.tree.Key(n)
		return k.who
	}
	for {
		leaf, ok := t.tree.Pick(everything())
		if !ok {
			return nil
		}
		s := byLeaf(leaf)
		if j := s.jobs.next(fits); j != nil {
			return j
		}
		_ = t.tree.Park(leaf) // for the round; it is there
		t.aside = append(t.aside, s)
	}
}

func (t *tree) charge(j *job, v resources.Vector) error { return t.tree.Charge(t.leaves[j.who], v) }
func (t *tree) credit(j *job, v resources.Vector) error { return t.tree.Credit(t.leaves[j.who], v) }
