package main

import (
	"hash/fnv"
	"math/bits"
	"slices"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/locality"
)

// sites finds the places of data.
type sites struct {
	topology *locality.Topology
	rack     []int32 // by node
	racks    int
	byName   map[string]locality.Node
	replicas int
	seed     uint64
	unknown  int // places that no machine has
	spare    []*near
}

// prefers reports whether some place is better than others for a task.
func (s *sites) prefers(w *trace.Tasks) bool {
	if w.Input != "" {
		return s.replicas > 0
	}
	return slices.ContainsFunc(w.Places, func(p trace.Place) bool {
		_, ok := s.byName[p.Node]
		return ok
	})
}

// preferred appends the nodes that hold the data of one task. They are those that the
// trace names, or as many as there are replicas of a block of a named file. The latter
// are drawn by a hash of its name, its number and the seed.
func (s *sites) preferred(w *trace.Tasks, file uint64, block int, to []locality.Node) []locality.Node {
	if w.Input == "" {
		for _, p := range w.Places {
			if n, ok := s.byName[p.Node]; ok {
				to = append(to, n)
			}
		}
		return to
	}
	nodes := uint64(len(s.rack))
	begin := len(to)
	for x := mix(file + uint64(block)); len(to)-begin < min(s.replicas, len(s.rack)); x = mix(x) {
		if n := locality.Node(x % nodes); !slices.Contains(to[begin:], n) {
			to = append(to, n)
		}
	}
	return to
}

func (s *sites) file(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return mix(h.Sum64() ^ s.seed)
}

// mix is the finalizer of splitmix64, with its increment.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// near finds, among the tasks of a bundle that have not started, one with data on a
// node, or in its rack.
type near struct {
	sites *sites
	taken []uint64 // bit by task
	any   int      // tasks below it are taken
	// The nodes that task i prefers are those from begin[i] to begin[i+1].
	prefer []locality.Node
	begin  []int32
	nodes  lists
	racks  lists
}

// lists has, for each key, numbers of tasks in a row, of which those before head
// are taken.
type lists struct {
	head, end []int32
	tasks     []int32
}

// newNear returns nil where the tasks prefer no node; all do, or none. Cost:
// O(tasks + nodes).
func newNear(s *sites, b *bundle) *near {
	for i := range b.groups {
		for _, p := range b.groups[i].Places {
			if _, ok := s.byName[p.Node]; !ok {
				s.unknown++
			}
		}
	}
	if !s.prefers(&b.groups[0]) {
		return nil
	}
	n := &near{sites: s}
	if last := len(s.spare) - 1; last >= 0 {
		n, s.spare = s.spare[last], s.spare[:last]
	}
	n.begin = make([]int32, 0, b.tasks+1)
	for i := range b.groups {
		w := &b.groups[i]
		file := s.file(w.Input)
		n.prefer = slices.Grow(n.prefer, w.Count*max(len(w.Places), min(s.replicas, len(s.rack))))
		for block := range w.Count {
			n.begin = append(n.begin, int32(len(n.prefer)))
			n.prefer = s.preferred(w, file, block, n.prefer)
		}
	}
	n.begin = append(n.begin, int32(len(n.prefer)))
	n.taken = make([]uint64, (b.tasks+63)/64)
	n.nodes.fill(len(s.rack), n, func(node locality.Node) int32 { return int32(node) })
	n.racks.fill(s.racks, n, func(node locality.Node) int32 { return s.rack[node] })
	return n
}

// free keeps the slices that are as long as there are nodes for the next bundle, and
// drops those that are as long as there are tasks.
func (n *near) free() {
	*n = near{
		sites: n.sites,
		nodes: lists{head: n.nodes.head, end: n.nodes.end},
		racks: lists{head: n.racks.head, end: n.racks.end},
	}
	n.sites.spare = append(n.sites.spare, n)
}

// sized returns so many zeros, in s if it is as long.
func sized(s []int32, n int) []int32 {
	if len(s) != n {
		return make([]int32, n)
	}
	clear(s)
	return s
}

// preferred returns the nodes that hold the data of a task.
func (n *near) preferred(task int) []locality.Node {
	return n.prefer[n.begin[task]:n.begin[task+1]]
}

// fill sorts tasks by key, by counting: those of each key by number. A key below
// 0 is none. A task may be listed twice under one key.
func (l *lists) fill(keys int, n *near, key func(locality.Node) int32) {
	l.head, l.end = sized(l.head, keys), sized(l.end, keys)
	for _, node := range n.prefer {
		if k := key(node); k >= 0 {
			l.end[k]++
		}
	}
	sum := int32(0)
	for k, count := range l.end {
		l.head[k], l.end[k] = sum, sum
		sum += count
	}
	l.tasks = make([]int32, sum)
	for task := range len(n.begin) - 1 {
		for _, node := range n.preferred(task) {
			if k := key(node); k >= 0 {
				l.tasks[l.end[k]] = int32(task)
				l.end[k]++
			}
		}
	}
}

// first returns a task of key that is not taken. Amortised O(1).
func (l *lists) first(key int32, taken []uint64) (int, bool) {
	if key < 0 {
		return 0, false
	}
	for l.head[key] < l.end[key] {
		if t := l.tasks[l.head[key]]; taken[t/64]&(1<<(t%64)) == 0 {
			return int(t), true
		}
		l.head[key]++
	}
	return 0, false
}

// find returns the nearest task for a node, and its level there.
func (n *near) find(node locality.Node) (task int, level locality.Level) {
	task, ok := n.nodes.first(int32(node), n.taken)
	if !ok {
		task, ok = n.racks.first(n.sites.rack[node], n.taken)
	}
	if !ok {
		for n.taken[n.any/64]&(1<<(n.any%64)) != 0 {
			n.any++
		}
		task = n.any
	}
	return task, n.sites.topology.Level(node, n.preferred(task)...)
}

// take notes that a task has started.
func (n *near) take(task int) { n.taken[task/64] |= 1 << (task % 64) }

// all reports whether every task has started.
func (n *near) all() bool {
	count := 0
	for _, word := range n.taken {
		count += bits.OnesCount64(word)
	}
	return count == len(n.begin)-1
}
