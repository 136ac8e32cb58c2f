package locality

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
)

// Predicate is a condition on one attribute of a machine. To match machines it
// is registered: see [Attributes.Register].
//
// A machine without the attribute satisfies no predicate but a negated one. The
// zero Predicate cannot be registered.
type Predicate struct {
	attribute string
	op        op
	not       bool
	values    []Value // sorted, each once; one for equal and greater
}

type op uint8

const (
	nothing op = iota
	equal
	exists
	greater
	oneOf
)

// Equal is satisfied where the attribute has the value.
func Equal(attribute string, v Value) Predicate {
	return Predicate{attribute: attribute, op: equal, values: []Value{v}}
}

// Exists is satisfied where the machine has the attribute, whatever its value.
func Exists(attribute string) Predicate {
	return Predicate{attribute: attribute, op: exists}
}

// Greater is satisfied where the attribute, a number, is greater than bound.
func Greater(attribute string, bound int64) Predicate {
	return Predicate{attribute: attribute, op: greater, values: []Value{Number(bound)}}
}

// OneOf is satisfied where the attribute has one of the values.
func OneOf(attribute string, values ...Value) Predicate {
	vs := slices.Clone(values)
	slices.SortFunc(vs, Value.compare)
	return Predicate{attribute: attribute, op: oneOf, values: slices.Compact(vs)}
}

// Not returns the predicate that is satisfied where p is not: also where the
// machine does not have the attribute.
func (p Predicate) Not() Predicate {
	p.not = !p.not
	return p
}

// String returns the predicate in readable form. Predicates of different meaning
// have different texts.
func (p Predicate) String() string {
	s := "nothing"
	switch p.op {
	case nothing:
	case exists:
		s = fmt.Sprintf("exists %q", p.attribute)
	case equal, greater:
		s = fmt.Sprintf("%q %s %v", p.attribute, map[op]string{equal: "=", greater: ">"}[p.op], p.values[0])
	case oneOf:
		texts := make([]string, len(p.values))
		for i, v := range p.values {
			texts[i] = v.String()
		}
		s = fmt.Sprintf("%q in {%s}", p.attribute, strings.Join(texts, ", "))
	}
	if p.not {
		return "not " + s
	}
	return s
}

// holds reports whether a machine with value v of the attribute satisfies p; v is
// the zero Value without one.
func (p *Predicate) holds(v Value) bool {
	yes := v.kind != none
	switch p.op {
	case equal:
		yes = yes && v == p.values[0]
	case greater:
		yes = yes && v.number > p.values[0].number
	case oneOf:
		yes = yes && slices.Contains(p.values, v)
	case exists, nothing:
	}
	return yes != p.not
}

// check returns the type of the attribute of p, none for any.
func (p *Predicate) check() (kind, error) {
	if p.op == nothing {
		return none, fmt.Errorf("locality: predicate %s: want one made by Equal, Exists, Greater or OneOf", fault.List(p.String()))
	}
	if err := checkName("predicate: attribute", p.attribute); err != nil {
		return none, err
	}
	if p.op == exists {
		return none, nil
	}
	if len(p.values) == 0 {
		return none, fmt.Errorf("locality: predicate %s: want at least one value", fault.List(p.String()))
	}
	for _, v := range p.values { // first, since the errors below print them all
		if err := checkText(p.attribute, v); err != nil {
			return none, refuse(err, "predicate")
		}
	}
	k := p.values[0].kind
	for _, v := range p.values {
		if v.kind == none {
			return none, fmt.Errorf("locality: predicate %s: want values made by Text or Number", fault.List(p.String()))
		}
		if v.kind != k {
			return none, refuse(ErrType, "predicate %s: %v is %v, %v is %v", fault.List(p.String()), p.values[0], k, v, v.kind)
		}
	}
	return k, nil
}
