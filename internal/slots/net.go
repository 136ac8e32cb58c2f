package slots

import "slices"

// Loc is a location: the sink, a group or a leaf.
type Loc = int32

// MaxLocations is the largest number of locations of a net. No shortest path comes to a
// location twice, so the cost of a path stays far within an int64.
const MaxLocations = 1 << 20

// Sink is the end of all flow that no leaf keeps.
const Sink Loc = 0

const none = -1

// Net is a problem and its solution so far.
//
// Changes keep the solution as far as they can; Solve makes it whole again.
// A Net belongs to one goroutine.
type Net struct {
	// price[v] is the cost of getting one unit from v to the sink, up to a
	// constant that all share. After Solve, and between its steps, no arc with
	// room has a negative reduced cost: cost + price[to] - price[from] >= 0.
	price   []int64
	span    int64   // no price is farther from 0
	dearest int64   // no cost is, or was, farther from 0 at any time
	locs    []loc   // those that were dropped are leaves at the top that hold nothing
	gone    []Loc   // these
	kids    [][]Loc // by location
	refs    [][]ref // by location: options that lead there

	tasks   []task
	cur     []place // by task
	options arena
	former  former  // scratch of replace
	total   total   // of the costs in cur, of tasks with a place
	idle    []int32 // tasks without a place
	unused  []int32 // numbers of tasks that are free
	changed []int32 // tasks with other costs since Solve
	touched []int32 // tasks that sat down since Forget
	dirty   []Loc   // locations that may not be balanced since Solve
	live    int
	relaxed int64 // see Relaxed
	off     int   // locations that are not balanced
	free    int64 // slots of leaves below groups that nothing goes through
	round   int32 // of Solve
	now     int64
	drifts  int  // options with a slope
	stale   bool // prices or costs have changed since all tasks were looked at

	limits limits

	pool      []int64
	comerPool []comer
	search    search
	paths     shortestPaths
	returns   returnSearch

	looks              struct{ warm, cold int64 } // budgets
	effort             effort
	work               work
	restarts, scalings int // how often the budgets were spent
}

// loc is a location, in 64 bytes: what it takes to seat a task, no more.
type loc struct {
	here []seat // tasks that sit here

	// Units. A location is balanced when what comes in (tasks, and down from
	// the parent) is what goes out (out to the sink, down to the kids) and
	// what it keeps. excess is the difference, negative in need.
	down, out, capacity, demand int32
	excess                      int64 // wide, as all capacities together may be much

	parent   Loc
	leaf     bool
	kid      int32 // where the last search for a kid ended,
	kidRound int32 // in which round
}

// place is the location of a task and its cost there; none if it has no place.
type place struct {
	cost int64
	at   Loc
	pos  int32 // in here of the location, or in idle
}

// ref is a task's option as its location sees it.
type ref struct {
	base  int64
	slope int32
	task  int32
}

// New returns a net with a sink and nothing else.
func New() *Net {
	n := &Net{}
	n.looks.warm, n.looks.cold, n.work.every = warmLooks, coldLooks, lookEvery
	n.forgetLimits()
	n.addLoc(none, false)
	return n
}

func (n *Net) addLoc(parent Loc, leaf bool) Loc {
	v := Loc(len(n.locs))
	if last := len(n.gone) - 1; last >= 0 {
		v, n.gone = n.gone[last], n.gone[:last]
		n.locs[v].parent, n.locs[v].leaf = parent, leaf
	} else {
		n.locs = append(n.locs, loc{parent: parent, leaf: leaf})
		n.kids, n.refs = append(n.kids, nil), append(n.refs, nil)
		n.price = append(n.price, 0)
	}
	price := int64(0)
	if v != Sink {
		price = n.price[Sink]
	}
	if parent != none {
		n.kids[parent] = append(n.kids[parent], v)
		// A parent is never dearer than its kids.
		price = max(price, n.price[parent])
	}
	n.price[v] = price
	return v
}

// AddGroup adds a group to parent, or at the top if parent is [Sink].
func (n *Net) AddGroup(parent Loc) Loc {
	return n.addLoc(up(parent), false)
}

// AddLeaf adds a leaf without capacity to parent, or at the top if parent is
// [Sink].
func (n *Net) AddLeaf(parent Loc) Loc {
	return n.addLoc(up(parent), true)
}

// Drop removes a location that no option leads to and that has no others below it.
// Its number goes to one that is added later. Cost: O(locations beside it).
func (n *Net) Drop(v Loc) {
	l := &n.locs[v]
	if l.leaf {
		n.SetLeaf(v, 0, 0)
	}
	if up := l.parent; up != none {
		// What was sent down here has to go down elsewhere.
		n.gain(v, -int64(l.down))
		n.gain(up, int64(l.down))
		n.dirty = append(n.dirty, up)
		n.kids[up] = slices.DeleteFunc(n.kids[up], func(k Loc) bool { return k == v })
	}
	*l = loc{here: l.here, parent: none, leaf: true}
	n.gone = append(n.gone, v)
}

func up(parent Loc) Loc {
	if parent == Sink {
		return none
	}
	return parent
}

// SetLeaf says that v keeps demand units and passes at most capacity on.
func (n *Net) SetLeaf(v Loc, demand, capacity int) {
	l := &n.locs[v]
	if int(l.demand) == demand && int(l.capacity) == capacity {
		return
	}
	least, most := int64(demand), int64(demand)+int64(capacity)
	if least < int64(l.demand) || most > int64(l.demand)+int64(l.capacity) {
		n.relaxed++ // else v takes in no number of units that it did not before
	}
	more := int64(demand) - int64(l.demand)
	if l.parent != none {
		n.free += int64(capacity) - int64(l.capacity)
	}
	l.demand, l.capacity = int32(demand), int32(capacity)
	n.gain(v, -more)
	n.gain(Sink, more)
	n.settle(v)
	n.dirty = append(n.dirty, v)
}

// gain adds to the excess of v.
func (n *Net) gain(v Loc, units int64) {
	e := &n.locs[v].excess
	if *e != 0 {
		n.off--
	}
	if *e += units; *e != 0 {
		n.off++
	}
}

// pass lets v pass so many units more on to the sink.
func (n *Net) pass(v Loc, units int32) {
	l := &n.locs[v]
	l.out += units
	if l.parent != none {
		n.free -= int64(units)
	}
	n.gain(v, -int64(units))
	n.gain(Sink, int64(units))
}

// settle lets v pass units to the sink by its price: all it can if it is dearer than the
// sink, and nothing if it is cheaper. At the same price it is the number that balances v.
func (n *Net) settle(v Loc) {
	l := &n.locs[v]
	out := int32(0)
	switch price, sink := n.price[v], n.price[Sink]; {
	case price > sink:
		out = l.capacity
	case price == sink:
		out = int32(min(max(int64(l.out)+l.excess, 0), int64(l.capacity)))
	}
	n.pass(v, out-l.out)
}

// Relaxed returns how often the problem has changed in a way that can give it a solution
// where it had none. Costs, time, fewer options of a task and tighter bounds of a leaf
// cannot.
func (n *Net) Relaxed() int64 { return n.relaxed }

// Live returns how many tasks there are.
func (n *Net) Live() int { return n.live }

// Unplaced returns the tasks without a place. The slice is the net's own and
// changes with it.
func (n *Net) Unplaced() []int32 { return n.idle }

// Here returns how many tasks sit at v.
func (n *Net) Here(v Loc) int { return len(n.locs[v].here) }

// Len returns how many locations there are.
func (n *Net) Len() int { return len(n.locs) - len(n.gone) }
