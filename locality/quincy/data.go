package quincy

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cellsched/cellsched/locality"
)

// Block is a part of a task's input: a number of bytes, and the nodes that hold a
// copy. [Blocks] makes them from [locality.Replicas].
type Block struct {
	Bytes int64
	Nodes []locality.Node
}

// DataCosts are the costs of the Quincy paper, section 4: of moved data, of waiting
// time, and of lost work.
//
// All are in units of the caller's choice, such as thousandths of the cost to move
// a gigabyte over a rack's switch. With the zero DataCosts all costs are 0: no task
// gains by running, and all may wait.
type DataCosts struct {
	// Core and Rack are the costs of a gigabyte (2^30 bytes) over the core switch
	// and over a rack's (ξ and ψ). Less than 0 is 0.
	Core, Rack int64
	// Wait is the cost of a unit of time that a task waits (ω). Work is the cost of
	// a unit of time that it has run and would run again. They are within
	// ±2^15.
	Wait, Work int32
	// Unscheduled is added to the cost of waiting. If it is more than any placement
	// costs, no task waits while a slot is free. If it is less, tasks wait for
	// their data. A task with equal costs for both may wait.
	Unscheduled int64
	// Preferred is the largest number of machines, and of racks, that a task has
	// arcs to: the cheapest ones. Less than 1 is 3.
	Preferred int
}

// Arcs appends the arcs of a task with input in, for [Config.Arcs]. They lead to
// its present machine, to wait, to machines and racks that hold a tenth of the
// input or more, and to the cluster.
//
// Bytes in the machine's rack move over the rack's switch, others over the core. A
// rack and the cluster cost as much as their worst machine. Costs are rounded to
// the nearest unit, and limited to [MaxCost]; sums of bytes are limited to 2^61.
// Copies on unknown machines do not count, nor do blocks of less than a byte. Cost:
// O(copies × log copies + copies² of a block), without allocation for up to 64
// copies.
func (d DataCosts) Arcs(arcs []Arc, in []Block, s State, now int64) []Arc {
	all := 0
	for _, b := range in {
		all += len(b.Nodes)
	}
	// To clear room for 64 takes as long as to sum up a few.
	if all <= 12 {
		var room [12]copies
		return d.arcs(arcs, tally(room[:0], in, s.Racks), s, now)
	}
	var room [64]copies
	return d.arcs(arcs, tally(room[:0], in, s.Racks), s, now)
}

func (d DataCosts) arcs(arcs []Arc, h held, s State, now int64) []Arc {
	if s.Running {
		lost := int64(d.Work) * (now - s.Since)
		arcs = append(arcs, Arc{OnMachine(s.On), clampCost(d.on(&h, s.On, s.Racks), -lost), -d.Work})
	}
	arcs = append(arcs, waitArc(d.Unscheduled, d.Wait, s, now))
	most := d.Preferred
	if most < 1 {
		most = 3
	}
	tenth := h.total/10 + min(1, h.total%10)

	first := len(arcs)
	for i := 0; i < len(h.all); {
		r := h.rackful(i)
		once := r.once()
		i += len(r)
		for _, c := range r {
			if c.bytes >= tenth && (!s.Running || c.node() != s.On) {
				arcs = append(arcs, Arc{To: OnMachine(c.node()), Cost: d.move(&h, once, c.bytes)})
			}
		}
	}
	arcs = cheapest(arcs, first, most)

	first = len(arcs)
	racks, worst := 0, int64(0)
	for i := 0; i < len(h.all); racks++ {
		r := h.rackful(i)
		once := r.once()
		i += len(r)
		cost := d.move(&h, once, r.least(len(s.Racks.Nodes(r[0].rack()))))
		if once >= tenth {
			arcs = append(arcs, Arc{To: InRack(r[0].rack()), Cost: cost})
		}
		worst = max(worst, cost)
	}
	arcs = cheapest(arcs, first, most)
	if racks < s.Racks.count() || racks == 0 {
		worst = max(worst, d.move(&h, 0, 0))
	}
	return append(arcs, Arc{To: Cluster(), Cost: worst})
}

// held is the distribution of an input's bytes over machines.
type held struct {
	total int64
	all   rackful // by rack, then node
}

// copies are the bytes that a machine holds. Those that it is the first to hold
// in its rack count there.
type copies struct {
	at           uint64 // rack and node, in the order of which they are
	bytes, first int64
}

func (c copies) rack() Rack { return Rack(c.at >> 32) }

func (c copies) node() locality.Node { return locality.Node(c.at) }

// rackful is the holdings of one rack's machines, without empty ones.
type rackful []copies

// once returns the number of bytes in the rack, copies counted once.
func (r rackful) once() (sum int64) {
	for _, c := range r {
		sum = add(sum, c.first)
	}
	return sum
}

// least returns the smallest number of bytes that a machine of the rack holds, for
// a rack of so many machines.
func (r rackful) least(machines int) int64 {
	if len(r) < machines {
		return 0
	}
	least := r[0].bytes
	for _, c := range r {
		least = min(least, c.bytes)
	}
	return least
}

// maxBytes is the limit of sums of bytes.
const maxBytes = 1 << 61

func add(a, b int64) int64 { return min(a+min(b, maxBytes), maxBytes) }

// tally sums up in, in the room that all has.
func tally(all rackful, in []Block, racks *Racks) held {
	h := held{all: all}
	for _, b := range in {
		if b.Bytes < 1 {
			continue
		}
		h.total = add(h.total, b.Bytes)
		begin := len(h.all)
		for i, n := range b.Nodes {
			rack, ok := racks.Of(n)
			if !ok || slices.Contains(b.Nodes[:i], n) {
				continue
			}
			c := copies{at: uint64(rack)<<32 | uint64(n), bytes: min(b.Bytes, maxBytes), first: min(b.Bytes, maxBytes)}
			for i := begin; i < len(h.all); i++ {
				if h.all[i].rack() == rack {
					c.first = 0
				}
			}
			h.all = append(h.all, c)
		}
	}
	slices.SortFunc(h.all, func(a, b copies) int { return cmp.Compare(a.at, b.at) })
	last := -1
	for _, c := range h.all {
		if last >= 0 && h.all[last].at == c.at {
			h.all[last].bytes = add(h.all[last].bytes, c.bytes)
			h.all[last].first = add(h.all[last].first, c.first)
			continue
		}
		last++
		h.all[last] = c
	}
	h.all = h.all[:last+1]
	return h
}

// rackful returns the holdings of the rack with the i-th first copies.
func (h *held) rackful(i int) rackful {
	end := i + 1
	for end < len(h.all) && h.all[end].rack() == h.all[i].rack() {
		end++
	}
	return h.all[i:end]
}

// on returns the cost to run on n.
func (d DataCosts) on(h *held, n locality.Node, racks *Racks) int64 {
	rack, _ := racks.Of(n)
	var within, own int64
	for _, c := range h.all {
		if c.rack() != rack {
			continue
		}
		within = add(within, c.first)
		if c.node() == n {
			own = c.bytes
		}
	}
	return d.move(h, within, own)
}

// move returns the cost to run on a machine that holds so many bytes, in a rack
// that holds so many.
func (d DataCosts) move(h *held, rack, machine int64) int64 {
	hi, lo := bits.Mul64(uint64(max(0, d.Core)), uint64(h.total-rack))
	more, low := bits.Mul64(uint64(max(0, d.Rack)), uint64(rack-machine))
	const half = 1 << 29
	lo, carry := bits.Add64(lo, low, 0)
	hi, _ = bits.Add64(hi, more, carry)
	lo, carry = bits.Add64(lo, half, 0)
	hi += carry
	if hi >= MaxCost>>34 {
		return MaxCost
	}
	return int64(hi<<34 | lo>>30)
}

// cheapest keeps the cheapest most of arcs from first on.
func cheapest(arcs []Arc, first, most int) []Arc {
	slices.SortFunc(arcs[first:], func(a, b Arc) int {
		if a.Cost != b.Cost {
			return cmp.Compare(a.Cost, b.Cost)
		}
		return cmp.Compare(a.To.at, b.To.at)
	})
	return arcs[:min(len(arcs), first+most)]
}
