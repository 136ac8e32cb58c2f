package slots

import "slices"

// Option is a location that a task may sit at, for Base + Slope × now.
type Option struct {
	Base  int64
	Slope int32
	At    Loc
}

// option is an Option, in 16 bytes: memory is what searches wait for.
type option struct {
	base  int64
	slope int32
	at    Loc
}

func (o *option) cost(now int64) int64 { return o.base + int64(o.slope)*now }

// arena holds the options of all tasks, each task's together.
type arena struct {
	all  []option
	refs []int32   // by option: where its location keeps it
	free [][]int32 // by length
}

func (a *arena) take(n int) int32 {
	if n < len(a.free) && len(a.free[n]) > 0 {
		l := len(a.free[n]) - 1
		at := a.free[n][l]
		a.free[n] = a.free[n][:l]
		return at
	}
	at := len(a.all)
	a.all, a.refs = doubled(a.all, n)[:at+n], doubled(a.refs, n)[:at+n]
	return int32(at)
}

// doubled returns s with room for so many more, and twice the room if there was not
// enough. To append adds a quarter: options come by the million, and each step copies
// them all.
func doubled[T any](s []T, more int) []T {
	if cap(s)-len(s) < more {
		return slices.Grow(s, max(more, len(s), 16))
	}
	return s
}

func (a *arena) give(first, n int32) {
	for len(a.free) <= int(n) {
		a.free = append(a.free, nil)
	}
	a.free[n] = append(a.free[n], first)
}

func (n *Net) optionsOf(t int32) []option {
	k := n.tasks[t]
	return n.options.all[k.first : k.first+k.n]
}

// Options appends the options of t to dst.
func (n *Net) Options(dst []Option, t int32) []Option {
	for _, o := range n.optionsOf(t) {
		dst = append(dst, Option{Base: o.base, Slope: o.slope, At: o.at})
	}
	return dst
}

// attach gives options to t, which has none.
func (n *Net) attach(t int32, options []Option) {
	n.relaxed++
	first := n.options.take(len(options))
	n.tasks[t] = task{first: first, n: int32(len(options)), drift: unsure}
	for i, o := range options {
		n.link(t, first+int32(i), o)
	}
}

// detach takes its options from t.
func (n *Net) detach(t int32) {
	n.relaxed++
	k := n.tasks[t]
	for i := k.first; i < k.first+k.n; i++ {
		n.unlink(n.options.all[i], n.options.refs[i])
	}
	n.options.give(k.first, k.n)
}

// replace gives t other options. Lists of locations change only where an option comes,
// goes, or costs something else. Few do when a task is placed, and lists are memory that
// may not have been read for long.
func (n *Net) replace(t int32, options []Option) {
	k := n.tasks[t]
	old, a := &n.former, &n.options
	old.all = append(old.all[:0], a.all[k.first:k.first+k.n]...)
	old.refs = append(old.refs[:0], a.refs[k.first:k.first+k.n]...)
	old.at = grown(old.at, len(n.locs))
	for i := range old.all {
		old.at[old.all[i].at] = int32(i) + 1
	}
	if int(k.n) != len(options) {
		a.give(k.first, k.n)
		k.first, k.n = a.take(len(options)), int32(len(options))
	}
	for i, o := range options {
		at, j := k.first+int32(i), old.at[o.At]-1
		if j < 0 {
			n.relaxed++
			n.link(t, at, o)
			continue
		}
		old.at[o.At] = 0
		now, pos := option{base: o.Base, slope: o.Slope, at: o.At}, old.refs[j]
		a.all[at], a.refs[at] = now, pos
		if old.all[j] != now {
			n.measureCost(o)
			n.refs[o.At][pos] = ref{base: o.Base, slope: o.Slope, task: t}
			n.drifts += sloped(o.Slope) - sloped(old.all[j].slope)
		}
	}
	for j, o := range old.all {
		if old.at[o.at] != 0 {
			old.at[o.at] = 0
			n.unlink(o, old.refs[j])
		}
	}
	k.drift = unsure
	n.tasks[t] = k
}

// former holds the options before a replace.
type former struct {
	all  []option
	refs []int32
	at   []int32 // by location: 1 more than the option's index; 0 elsewhere and later
}

// link puts an option of t where it is to be in the arena, and in the list of its
// location.
func (n *Net) link(t, at int32, o Option) {
	n.measureCost(o)
	n.options.all[at] = option{base: o.Base, slope: o.Slope, at: o.At}
	n.options.refs[at] = int32(len(n.refs[o.At]))
	n.refs[o.At] = append(n.refs[o.At], ref{base: o.Base, slope: o.Slope, task: t})
	n.drifts += sloped(o.Slope)
}

// unlink takes an option from the list of its location, where it is at pos.
func (n *Net) unlink(o option, pos int32) {
	refs := n.refs[o.at]
	last := len(refs) - 1
	if int(pos) != last {
		moved := refs[last]
		refs[pos] = moved
		at := n.tasks[moved.task].first // where that is in the arena
		for n.options.all[at].at != o.at {
			at++
		}
		n.options.refs[at] = pos
	}
	n.refs[o.at] = refs[:last]
	n.drifts -= sloped(o.slope)
}

// sloped is 1 if an option of that slope grows or shrinks with time.
func sloped(slope int32) int {
	if slope != 0 {
		return 1
	}
	return 0
}
