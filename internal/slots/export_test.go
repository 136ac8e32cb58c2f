package slots

// SetLooks sets how many looks at every arc a Solve has: from the last round's prices and
// from an auction. Every is how many arcs it looks at between looks at its context.
func (n *Net) SetLooks(warm, cold, every int64) {
	n.looks.warm, n.looks.cold, n.work.every = warm, cold, every
}

// Fallbacks returns how often the looks were not enough.
func (n *Net) Fallbacks() (restarts, scalings int) { return n.restarts, n.scalings }

// Used returns how many arcs the last Solve has looked at, and how many there are.
func (n *Net) Used() (looks, arcs int64) { return n.work.before + n.work.used, n.arcs() }

// Looked returns how many arcs the last Paths has looked at, about.
func (n *Net) Looked() int64 { return n.paths.from.arcs + n.paths.to.arcs }

// Shift moves all prices, but that of except, as many rounds would.
func (n *Net) Shift(by int64, except Loc) {
	for v := range n.price {
		if Loc(v) != except {
			n.price[v] += by
		}
	}
	n.measure()
}

// Stray moves the price of v, unnoticed.
func (n *Net) Stray(v Loc, by int64) { n.price[v] += by }

// Price returns the price of v.
func (n *Net) Price(v Loc) int64 { return n.price[v] }

// Walked returns what Cost does, by a look at each task, where an int64 holds it.
func (n *Net) Walked() (sum int64) {
	for _, p := range n.cur {
		if p.at != none {
			sum += p.cost
		}
	}
	return sum
}

// Astray returns how many options are not noted as they are at their locations, and
// how many notes are of no option.
func (n *Net) Astray() (options, notes int) {
	for v := range n.locs {
		notes += len(n.refs[v])
	}
	drifts := 0
	for t, k := range n.tasks {
		for i, o := range n.optionsOf(int32(t)) {
			at := k.first + int32(i)
			refs, pos := n.refs[o.at], n.options.refs[at]
			if refs[pos] != (ref{base: o.base, slope: o.slope, task: int32(t)}) {
				options++
			}
			drifts += sloped(o.slope)
			notes--
		}
	}
	return options + max(drifts-n.drifts, n.drifts-drifts), notes
}

// Overstated returns how many of the limits that the last Solve noted are too high.
func (n *Net) Overstated() (limits int) {
	for v := range n.locs {
		for i := range n.locs[v].here {
			if s := &n.locs[v].here[i]; n.limits.above(s, n.limit(s.task)) {
				limits++
			}
		}
	}
	return limits
}

// Breaks are ways to make a solved net wrong.
var Breaks = map[string]func(n *Net, t int32, v Loc){
	"price too low":  func(n *Net, _ int32, v Loc) { n.price[v] -= 1 << 20 },
	"price too high": func(n *Net, _ int32, v Loc) { n.price[v] += 1 << 20 },
	"parent dearer":  func(n *Net, _ int32, v Loc) { n.price[n.locs[v].parent] += 1 << 20 },
	"out":            func(n *Net, _ int32, v Loc) { n.locs[v].out++ },
	"down":           func(n *Net, _ int32, v Loc) { n.locs[v].down++ },
	"demand":         func(n *Net, _ int32, v Loc) { n.locs[v].demand++ },
	"excess":         func(n *Net, _ int32, v Loc) { n.locs[v].excess++ },
	"free":           func(n *Net, _ int32, _ Loc) { n.free++ },
	"no place":       func(n *Net, t int32, _ Loc) { n.cur[t].at = none },
	"cost":           func(n *Net, t int32, _ Loc) { n.cur[t].cost-- },
	"no option":      func(n *Net, t int32, v Loc) { n.cur[t].at = Sink },
	"time":           func(n *Net, _ int32, _ Loc) { n.now++ },
}
