package slots

// auction finds places for all tasks from scratch, and prices that are nearly those
// of the least cost. It is the auction algorithm in its form for similar objects,
// D. Bertsekas and D. Castañon, "The auction algorithm for the transportation
// problem", 1989. A task bids for a unit of its cheapest location as much as makes
// the next best one as cheap. The unit is the cheapest one there, and its task loses
// it and bids again. So prices only rise, from where no solution has them lower.
//
// A unit of a group is the cheapest one below it. Groups do not hold units in this or
// that leaf: a task that wants a leaf where a group has a unit gets that, and the
// group the next one.
type auction struct {
	net   *Net
	step  int64 // the least rise of a price
	lots  []lot // by location
	least []int64
	bids  []int64 // by task with a place: the price at which it would leave
	at    []Loc   // by task
}

// lot is the units of a location.
type lot struct {
	seats    []int32 // tasks at the location itself, a heap by their bids
	price    int64   // of the cheapest unit here or below
	floor    int64   // price of the first units of a leaf, which it keeps
	base     int64   // and of the others
	keeps    int64
	room     int64 // units of a leaf
	used     int64 // of them
	down     int32 // units of the parent that are here or below
	parent   Loc
	kids     int32
	first    int32 // in auction.least: a tree of the prices of kids, by minimum
	position int32 // among the kids of the parent
}

const (
	// fraction is the unit of prices in an auction, in parts of that of costs.
	// Where many costs are equal, prices rise by less than a unit of cost at a time,
	// and rounded down they prove as much.
	fraction = 64
	// rises is how many steps of a price are as much as the mean difference between the
	// options of a task, to begin with. Steps double with each look at every arc beyond
	// the third. Finer steps leave fewer tasks in a wrong place, and take more bids where
	// tasks with few options contend for a leaf.
	rises = 1 << 13
	// near is how many steps the better one of a group and of a leaf below it may be
	// ahead for both to be one choice, see shared.
	near = 4
	// auctionLooks is how often an auction looks at every arc, at most. The rest is
	// left to searches.
	auctionLooks = 6

	unsellable = never / 2 // no task pays that
)

// auction begins anew: it takes all tasks from their places, and sells places. It
// returns false if the Solve was stopped.
func (n *Net) auction() bool {
	n.stale = true // even if this does not come to the end
	a := &auction{
		net: n, lots: make([]lot, len(n.locs)),
		bids: make([]int64, len(n.tasks)), at: make([]Loc, len(n.tasks)),
	}
	a.step = max(1, a.spread()*fraction/rises)
	a.open()
	if !a.sell() {
		return false
	}
	n.accept(a)
	return true
}

// spread returns the mean difference between the cheapest and the dearest option of
// a task, of a thousand tasks or so.
func (a *auction) spread() int64 {
	n := a.net
	var sum, tasks float64
	for t := 0; t < len(n.tasks); t += 1 + len(n.tasks)/1024 {
		if n.tasks[t].n == 0 {
			continue
		}
		low, high := never, -never
		opts := n.optionsOf(int32(t))
		for i := range opts {
			c := opts[i].cost(n.now)
			low, high = min(low, c), max(high, c)
		}
		tasks++
		sum += float64(high - low)
	}
	return int64(sum / max(1, tasks))
}

// open sets all prices to what they are while no unit is sold.
func (a *auction) open() {
	n := a.net
	floors := n.floors()
	size := int32(0)
	for v := range n.locs {
		l, q := &n.locs[v], &a.lots[v]
		q.parent, q.price = l.parent, unsellable
		q.kids, q.first = int32(len(n.kids[v])), size
		size += 2 * q.kids
		for i, k := range n.kids[v] {
			a.lots[k].position = int32(i)
		}
		if l.leaf {
			q.keeps, q.room = int64(l.demand), int64(l.demand)+int64(l.capacity)
			q.floor, q.base = floors[v]*fraction, max(0, floors[v])*fraction
		}
	}
	a.least = make([]int64, size)
	for i := range a.least {
		a.least[i] = unsellable
	}
	for v := range a.lots {
		a.reprice(Loc(v))
	}
}

// sell lets tasks bid until all have a place, or the budget is spent. It returns false if
// the Solve was stopped.
//
// Steps grow fast under two conditions: many tasks are yet to bid, and hardly one does so
// for the first time within a look at every arc. The tasks that have bid are then
// indifferent among the slots, and outbid each other by small steps.
func (a *auction) sell() bool {
	n := a.net
	for t := range a.at {
		a.at[t] = none
	}
	began, looks, before := n.work.used, int64(1), 0
	for i := range n.tasks {
		if n.tasks[i].n == 0 {
			continue
		}
		for t := int32(i); t != none; t = a.offer(t) {
			if !n.work.spend(int(n.tasks[t].n)) {
				return false
			}
			if n.work.used-began < looks*n.arcs() {
				continue
			}
			left := len(n.tasks) - i
			switch {
			case looks == auctionLooks:
				return true
			case looks >= 2 && left > len(n.tasks)/16 && i-before < len(n.tasks)/32:
				a.step *= 4
			case looks >= 3:
				a.step *= 2
			}
			looks, before = looks+1, i
		}
	}
	return true
}

// offer lets t bid for its best place, and returns the task that loses its own for
// that; none if there is none. There is no place if no bid is enough.
func (a *auction) offer(t int32) (loser int32) {
	n := a.net
	best, price := never, int64(0)
	at := Loc(none)
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		p := a.price(o.at)
		if p >= unsellable {
			continue
		}
		// Of those that are as good, the present place comes first, and then the one that
		// fewer others want.
		sum, here := o.cost(n.now)*fraction+p, n.cur[t].at
		if sum < best || sum == best && (o.at == here || at != here && p < price) {
			best, at, price = sum, o.at, p
		}
	}
	if at == none {
		return none
	}
	second := never
	for i := range opts {
		o := &opts[i]
		p := a.price(o.at)
		if o.at == at || p >= unsellable {
			continue
		}
		sum := o.cost(n.now)*fraction + p
		// A group and a leaf where it has units have one price, and are no way to evade it.
		if sum < second && (p != price || sum-best > near*a.step || !a.shared(at, o.at) && !a.shared(o.at, at)) {
			second = sum
		}
	}
	bid := unsellable
	if second < never {
		bid = min(price+max(second-best, a.step), unsellable)
	}
	loser = a.yield(at)
	a.bids[t], a.at[t] = bid, at
	q := &a.lots[at]
	q.seats = append(q.seats, t)
	a.up(q.seats, len(q.seats)-1)
	a.reprice(at)
	return loser
}

// shared reports whether the group has units at v, so that prices of both rise
// together: one is no way to evade the price of the other.
func (a *auction) shared(v, group Loc) bool {
	for a.lots[v].down > 0 {
		if v = a.lots[v].parent; v == group {
			return true
		}
	}
	return false
}

// price returns the price of a unit at v: if a group above has units there, that of
// any unit of the group.
func (a *auction) price(v Loc) int64 {
	q := &a.lots[v]
	for q.down > 0 {
		q = &a.lots[q.parent]
	}
	return q.price
}

// yield gives up the cheapest unit at v, and returns the task that loses it; none if
// it was not sold yet.
func (a *auction) yield(v Loc) int32 {
	for a.lots[v].down > 0 {
		a.lots[v].down--
		v = a.lots[v].parent
	}
	for {
		q := &a.lots[v]
		if q.kids == 0 && q.used < q.room && q.price == q.unsold() {
			q.used++
			a.reprice(v)
			return none
		}
		if len(q.seats) > 0 && a.bids[q.seats[0]] == q.price {
			t := a.pop(q)
			a.at[t] = none
			a.reprice(v)
			return t
		}
		v = a.cheapest(v)
		a.lots[v].down++
	}
}

// unsold returns the price of the units of a leaf that are not sold.
func (q *lot) unsold() int64 {
	switch {
	case q.used < q.keeps:
		return q.floor
	case q.used < q.room:
		return q.base
	}
	return unsellable
}

// reprice notes the price of v, and those of the groups above.
func (a *auction) reprice(v Loc) {
	for {
		q := &a.lots[v]
		price := q.unsold()
		if q.kids > 0 {
			price = a.least[q.first+1]
		}
		if len(q.seats) > 0 {
			price = min(price, a.bids[q.seats[0]])
		}
		if price == q.price {
			return
		}
		if q.price = price; q.parent == none {
			return
		}
		p := &a.lots[q.parent]
		tree := a.least[p.first : p.first+2*p.kids]
		i := p.kids + q.position
		for tree[i] = price; i > 1; i /= 2 {
			tree[i/2] = min(tree[i], tree[i^1])
		}
		v = q.parent
	}
}

// cheapest returns the kid of the group v with the price of v.
func (a *auction) cheapest(v Loc) Loc {
	q := &a.lots[v]
	tree := a.least[q.first : q.first+2*q.kids]
	i := int32(1)
	for i < q.kids {
		if i *= 2; tree[i] != q.price {
			i++
		}
	}
	return a.net.kids[v][i-q.kids]
}

// up moves the last task of a heap to where it belongs.
func (a *auction) up(heap []int32, i int) {
	t := heap[i]
	for i > 0 {
		above := (i - 1) / 2
		if a.bids[heap[above]] <= a.bids[t] {
			break
		}
		heap[i] = heap[above]
		i = above
	}
	heap[i] = t
}

// pop takes the task with the least bid from a location.
func (a *auction) pop(q *lot) int32 {
	top, last := q.seats[0], len(q.seats)-1
	t, heap := q.seats[last], q.seats[:last]
	q.seats = heap
	i := 0
	for k := 1; k < last; k = 2*i + 1 {
		if k+1 < last && a.bids[heap[k+1]] < a.bids[heap[k]] {
			k++
		}
		if a.bids[heap[k]] >= a.bids[t] {
			break
		}
		heap[i] = heap[k]
		i = k
	}
	if last > 0 {
		heap[i] = t
	}
	return top
}
