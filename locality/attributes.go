package locality

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cellsched/cellsched/internal/fault"
)

// Attributes holds the attributes of machines, and for each registered predicate
// the machines that satisfy it, as a bit vector. The method is that of section IV-B
// of "Megha: Decentralized Global Fair Scheduling for Federated Clusters". Unlike
// there, the vectors cover all machines, and are changed in place while they are
// read.
//
// The zero Attributes knows no machine and is ready to use; do not copy it after
// first use. All methods are safe for concurrent use. They wait for each other for
// the length of one change. Those of [Constraints] never wait. They see a change no
// later than when the call that made it returned.
//
// Memory: for each machine 8 bytes per attribute that is a number, 16 per text, and
// one bit per predicate and attribute. Sets of constraints are remembered from
// [Attributes.Require] on until [Attributes.Cache] finds them out of use.
type Attributes struct {
	// frames and end are written under mu and read without. A frame stays for good
	// once made. No node from end on was ever known; end is raised before the node
	// is.
	frames [maxPages]atomic.Pointer[frame]
	end    atomic.Uint32

	mu         sync.Mutex
	columns    map[string]*column
	predicates []*registered
	numbers    map[string]Constraint   // by the predicate's text
	sets       map[string]*Constraints // by their sorted numbers, 4 bytes each
	cached     []*Constraints
	flips      []*registered // room for those of the next change
}

type registered struct {
	Predicate
	// sat has the machines that satisfy it. Bits of unknown machines have no
	// meaning.
	sat vector
}

// Constraint is the number of a registered predicate, from 0 up in the order of
// registration. It means nothing to other Attributes.
type Constraint uint32

// Register returns the number of p, the same one for the same predicate. Predicates
// stay for good.
//
// The first value or predicate sets the type of an attribute: text or number. Later
// ones of the other type fail with [ErrType]. Errors: [ErrName], [ErrType]. Cost:
// O(machines) the first time, a look-up after that.
func (a *Attributes) Register(p Predicate) (Constraint, error) {
	if a == nil {
		return 0, absent("attributes")
	}
	k, err := p.check()
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := p.String()
	if c, ok := a.numbers[key]; ok {
		return c, nil
	}
	if err := a.checkKind(p.attribute, k); err != nil {
		return 0, refuse(err, "predicate %v", p)
	}
	col := a.column(p.attribute, k)
	r := &registered{Predicate: p}
	for n := range Node(a.end.Load()) {
		if a.knows(n) && r.holds(col.at(n)) {
			r.sat.set(n, true)
		}
	}
	col.predicates = append(col.predicates, r)
	c := Constraint(len(a.predicates))
	a.predicates = append(a.predicates, r)
	if a.numbers == nil {
		a.numbers = make(map[string]Constraint)
	}
	a.numbers[key] = c
	return c, nil
}

// Describe sets the attributes of machine n to these and no others. An unknown
// machine becomes known.
//
// Names and texts have to pass [resources.CheckName]; a text may be empty. Errors:
// [ErrNode], [ErrName], [ErrType]. Cost: O(attributes + predicates).
func (a *Attributes) Describe(n Node, values map[string]Value) error {
	if a == nil {
		return absent("attributes")
	}
	if n >= MaxNodes {
		return refuse(ErrNode, "describe node %d: want less than %d", n, MaxNodes)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(values)) { // of several mistakes the same one is reported each time
		if err := a.checkValue(name, values[name]); err != nil {
			return refuse(err, "describe node %d", n)
		}
	}
	for name, v := range values {
		a.column(name, v.kind)
	}
	flips, known := a.flips[:0], a.knows(n)
	for name, col := range a.columns {
		v := values[name]
		if !known || v != col.at(n) {
			flips = col.put(n, v, flips)
		}
	}
	if !known {
		a.meet(n)
	}
	a.change(n, flips, known, true)
	return nil
}

// Set sets an attribute of machine n to v.
//
// Errors: [ErrNode] unless n is known, [ErrName], [ErrType]. Cost: O(predicates
// over that attribute), no allocation except for the attribute's first value and as
// the machines grow.
func (a *Attributes) Set(n Node, attribute string, v Value) error {
	if a == nil {
		return absent("attributes")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	col, ok := a.columns[attribute]
	if !a.knows(n) {
		return refuse(ErrNode, "set %s of node %d: want one that is known", fault.Quote(attribute), n)
	}
	if !ok || v.kind != col.kind {
		if err := a.checkValue(attribute, v); err != nil {
			return refuse(err, "set node %d", n)
		}
		col = a.column(attribute, v.kind)
	}
	a.change(n, col.put(n, v, a.flips[:0]), true, true)
	return nil
}

// Unset removes an attribute of machine n. Errors: [ErrNode] unless n is known.
func (a *Attributes) Unset(n Node, attribute string) error {
	if a == nil {
		return absent("attributes")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.knows(n) {
		return refuse(ErrNode, "unset %s of node %d: want one that is known", fault.Quote(attribute), n)
	}
	if col, ok := a.columns[attribute]; ok && col.has.has(n) {
		a.change(n, col.put(n, Value{}, a.flips[:0]), true, true)
	}
	return nil
}

// Forget removes machine n. Its number may be described again, as another machine.
// Errors: [ErrNode] unless n is known. Cost: O(attributes + predicates).
func (a *Attributes) Forget(n Node) error {
	if a == nil {
		return absent("attributes")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.knows(n) {
		return refuse(ErrNode, "forget node %d: want one that is known", n)
	}
	flips := a.flips[:0]
	for _, col := range a.columns {
		flips = col.put(n, Value{}, flips)
	}
	a.change(n, flips, true, false)
	return nil
}

// Value returns the value of an attribute of machine n, and false if it has none or
// is not known.
func (a *Attributes) Value(n Node, attribute string) (Value, bool) {
	if a == nil {
		return Value{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	col, ok := a.columns[attribute]
	if !ok || !a.knows(n) {
		return Value{}, false
	}
	v := col.at(n)
	return v, v.kind != none
}

// change makes a change of node n by the steps of frame. The bit of n is flipped in
// the vectors of these predicates.
func (a *Attributes) change(n Node, flips []*registered, was, is bool) {
	a.flips = flips[:0] // to be used again
	if len(flips) == 0 && was == is {
		return
	}
	f := a.frames[uint32(n)/pageNodes].Load()
	known, seq, bit := f.of(n)
	rest := known.Load() &^ bit
	known.Store(rest)
	seq.Add(1)
	for _, r := range flips {
		r.sat.flip(n)
	}
	if is {
		known.Store(rest | bit)
	}
	seq.Add(1)
}

// meet makes the frame of a node that is to become known.
func (a *Attributes) meet(n Node) {
	if fp := &a.frames[uint32(n)/pageNodes]; fp.Load() == nil {
		fp.Store(new(frame))
	}
	if uint32(n) >= a.end.Load() {
		a.end.Store(uint32(n) + 1)
	}
}

func (a *Attributes) knows(n Node) bool {
	if n >= MaxNodes {
		return false
	}
	f := a.frames[uint32(n)/pageNodes].Load()
	if f == nil {
		return false
	}
	known, _, bit := f.of(n)
	return known.Load()&bit != 0
}

func (a *Attributes) checkValue(attribute string, v Value) error {
	if err := checkName("attribute", attribute); err != nil {
		return err
	}
	if v.kind == none {
		return fmt.Errorf("attribute %q = %v: want a name, and a value made by Text or Number", attribute, v)
	}
	if err := checkText(attribute, v); err != nil {
		return err
	}
	if err := a.checkKind(attribute, v.kind); err != nil {
		return refuse(err, "attribute %q = %v", attribute, v)
	}
	return nil
}

func (a *Attributes) checkKind(attribute string, k kind) error {
	if col, ok := a.columns[attribute]; ok && k != none && col.kind != none && col.kind != k {
		return refuse(ErrType, "%q is %v, not %v", attribute, col.kind, k)
	}
	return nil
}

// column returns the column of an attribute that may have type k.
func (a *Attributes) column(attribute string, k kind) *column {
	col, ok := a.columns[attribute]
	if !ok {
		col = new(column)
		if a.columns == nil {
			a.columns = make(map[string]*column)
		}
		a.columns[attribute] = col
	}
	if col.kind == none {
		col.kind = k
	}
	return col
}
