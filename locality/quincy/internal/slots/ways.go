package slots

import "container/heap"

// Way is what it takes that a task sits at one of its options.
type Way struct {
	Option Option
	// Leaf is where the task would come to.
	Leaf Loc
	// Open says that there is a way.
	Open bool
	// Steps are the other tasks that would have to go elsewhere.
	Steps []Step
	// Extra is by how much the sum of all costs would grow.
	Extra int64
}

// Step is a task that goes from a leaf to another, for so much more.
type Step struct {
	Task     int32
	From, To Loc
	Extra    int64
}

// Ways finds for each option of t, in their order, what it takes at the time now
// that t sits there: the cheapest chain of other tasks that give way to each
// other, and of those the shortest.
//
// All tasks with a place have to sit at leaves, as [Net.Ground] leaves them. The
// chains are the cheapest if nothing has changed since Solve, and possible
// otherwise. Cost: O(options of all tasks × log locations) at worst; the search
// ends where all options of t are reached.
func (n *Net) Ways(t int32, now int64) []Way {
	w := wayfinder{net: n, now: now, task: t, nodes: make([]waypoint, len(n.locs))}
	w.search()
	var ways []Way
	for _, o := range n.optionsOf(t) {
		ways = append(ways, w.way(Option{Base: o.base, Slope: o.slope, At: o.at}))
	}
	return ways
}

// Room returns how many tasks v can hold, with all below it, and does.
func (n *Net) Room(v Loc) (most, used int) {
	l := &n.locs[v]
	most, used = int(l.demand)+int(l.capacity), len(l.here)
	for _, k := range l.kids {
		m, u := n.Room(k)
		most, used = most+m, used+u
	}
	return most, used
}

// Sitting returns the tasks that sit at v. The slice is the net's own and
// changes with it.
func (n *Net) Sitting(v Loc) []int32 { return n.locs[v].here }

// wayfinder searches backwards from where a task sits, or from the sink if it
// has no place: a unit that comes to any other location ends there.
//
// What a leaf may hold follows from who sits there, not from the flow, so that a
// leaf that a task has left since Solve has room.
type wayfinder struct {
	net   *Net
	now   int64
	task  int32
	nodes []waypoint
	queue wayQueue
}

// waypoint is what is known of a location.
type waypoint struct {
	far  distance
	seen bool
	done bool
	next Loc   // on the way to the goal
	task int32 // that goes there from here; none if a unit just does
	cost int64 // what that adds
}

// distance is the sum of reduced costs, and how many tasks give way.
type distance struct {
	cost  int64
	tasks int32
}

func (d distance) less(e distance) bool {
	return d.cost < e.cost || d.cost == e.cost && d.tasks < e.tasks
}

func (w *wayfinder) goal() Loc {
	if at := w.net.cur[w.task].at; at != none {
		return at
	}
	return Sink
}

func (w *wayfinder) search() {
	n := w.net
	left := map[Loc]bool{}
	for _, o := range n.optionsOf(w.task) {
		left[o.at] = true
	}
	goal := w.goal()
	w.nodes[goal] = waypoint{seen: true, next: none, task: none}
	heap.Push(&w.queue, wayItem{at: goal})
	for len(left) > 0 && w.queue.Len() > 0 {
		it := heap.Pop(&w.queue).(wayItem)
		if w.nodes[it.at].done {
			continue
		}
		w.nodes[it.at].done = true
		delete(left, it.at)
		w.scan(it.at)
	}
}

// scan looks at all that can come to v.
func (w *wayfinder) scan(v Loc) {
	n := w.net
	if v == Sink {
		for i := range n.locs {
			if l := &n.locs[i]; l.leaf && len(l.here) < int(l.demand)+int(l.capacity) {
				w.relax(waypoint{next: v, task: none}, Loc(i))
			}
		}
		return
	}
	l := &n.locs[v]
	if l.leaf && len(l.here) > int(l.demand) {
		w.relax(waypoint{next: v, task: none}, Sink)
	}
	if l.parent != none {
		w.relax(waypoint{next: v, task: none}, l.parent)
	}
	for i := range l.refs {
		r := &l.refs[i]
		if at := n.cur[r.task].at; at != none && !w.nodes[at].done && r.task != w.task && n.locs[at].leaf {
			cost := r.base + int64(r.slope)*w.now
			w.relax(waypoint{next: v, task: r.task, cost: cost - w.costAt(r.task, at)}, at)
		}
	}
}

// relax notes that from v one can go as p says, if that is the shortest so far.
// Reduced costs below 0, as there may be where costs have changed since Solve,
// count as 0, so that the search ends.
func (w *wayfinder) relax(p waypoint, v Loc) {
	price := w.net.price
	p.far = w.nodes[p.next].far
	p.far.cost = min(p.far.cost+max(0, p.cost+price[p.next]-price[v]), never)
	if p.task != none {
		p.far.tasks++
	}
	if old := &w.nodes[v]; !old.seen || p.far.less(old.far) {
		p.seen = true
		*old = p
		heap.Push(&w.queue, wayItem{p.far, v})
	}
}

// costAt returns what it costs now that t sits at v.
func (w *wayfinder) costAt(t int32, v Loc) int64 {
	if p := &w.net.cur[t]; p.at == v && w.now == w.net.now {
		return p.cost
	}
	for _, o := range w.net.optionsOf(t) {
		if o.at == v {
			return o.cost(w.now)
		}
	}
	return w.net.cur[t].cost
}

func (w *wayfinder) way(o Option) Way {
	way := Way{Option: o, Leaf: none, Extra: o.Base + int64(o.Slope)*w.now}
	if at := w.net.cur[w.task].at; at != none {
		way.Extra -= w.costAt(w.task, at)
	}
	if !w.nodes[o.At].done {
		return way
	}
	way.Open, way.Leaf = true, w.leaf(o.At)
	goal := w.goal()
	for v := o.At; v != goal; v = w.nodes[v].next {
		p := &w.nodes[v]
		if p.task == none {
			continue
		}
		way.Steps = append(way.Steps, Step{Task: p.task, From: v, To: w.leaf(p.next), Extra: p.cost})
		way.Extra += p.cost
	}
	return way
}

// leaf returns where a unit that comes to v is taken: v, or a leaf below.
func (w *wayfinder) leaf(v Loc) Loc {
	for v != w.goal() && !w.net.locs[v].leaf {
		v = w.nodes[v].next
	}
	return v
}

type wayItem struct {
	far distance
	at  Loc
}

// wayQueue is a heap of locations, nearest first, lower numbers first among
// equals.
type wayQueue []wayItem

func (q wayQueue) Len() int { return len(q) }

func (q wayQueue) Less(i, j int) bool {
	if q[i].far != q[j].far {
		return q[i].far.less(q[j].far)
	}
	return q[i].at < q[j].at
}

func (q wayQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *wayQueue) Push(x any) { *q = append(*q, x.(wayItem)) }

func (q *wayQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
