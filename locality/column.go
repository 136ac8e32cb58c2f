package locality

// column is one attribute of all machines.
type column struct {
	kind       kind // none while predicates of existence alone use it
	has        vector
	numbers    []int64
	texts      []string
	predicates []*registered
}

// at returns the value of n, the zero Value if it has none.
func (col *column) at(n Node) Value {
	switch {
	case !col.has.has(n):
		return Value{}
	case col.kind == number:
		return Number(col.numbers[n])
	}
	return Text(col.texts[n])
}

// put keeps the value of n, and appends to flips the predicates with a wrong bit
// for n.
func (col *column) put(n Node, v Value, flips []*registered) []*registered {
	col.has.set(n, v.kind != none)
	switch {
	case v.kind == number:
		col.numbers = reach(col.numbers, n)
		col.numbers[n] = v.number
	case v.kind == text:
		col.texts = reach(col.texts, n)
		col.texts[n] = v.text
	case int(n) < len(col.texts):
		col.texts[n] = "" // not to be kept alive
	}
	for _, r := range col.predicates {
		if r.holds(v) != r.sat.has(n) {
			flips = append(flips, r)
		}
	}
	return flips
}

// reach returns s with an element n.
func reach[E any](s []E, n Node) []E {
	if int(n) < len(s) {
		return s
	}
	return append(s, make([]E, int(n)+1-len(s))...)
}
