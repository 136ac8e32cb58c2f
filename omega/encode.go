package omega

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// An operation is its kind and its arguments, in the order of encode. Numbers are uvarints,
// or zigzag varints where they may be negative.
//
// A scheduler is its owner's num and its epoch. A machine is its node times two, plus one
// if its generation, or for an ID of another cell 0 and the ID, follows. An allocation is its
// node, its slot times two and its seq; plus one if its ID follows instead, for one of
// another cell. A time is the nanoseconds since 1970 in 8 bytes, or, where they do
// not fit, seconds and nanoseconds. Flags tell which.

// The flags of a transaction. The detection is in the bits detectShift and up.
const (
	gangFlag     = 1 << iota
	nowFlag      // followed by Now
	graceFlag    // followed by Grace
	atFlag       // followed by the time of the snapshot
	reservesFlag // followed by the number of reservations, and those
	detectShift  = iota
)

// The flags of an item. Its kind is in the bits kindShift and up. The arguments that an
// item has in common with the claim before it in the transaction are left out.
const (
	chargeFlag  = 1 << iota // another account or precedence
	needFlag                // another need
	victimsFlag             // followed by the victims
	moreFlag                // followed by a reservation and the num of a grantee, 0 for none
	fromFlag                // followed by the exchanged allocations
	knownFlag               // followed by the number of the machine's version in the snapshot
	kindShift   = iota
)

// The ways to write a time.
const (
	noTime = iota
	nanosTime
	longTime
)

// encoder appends the parts of an operation.
type encoder struct {
	b   []byte
	tag uint32 // of the cell
}

func (e *encoder) uvarint(x uint64) { e.b = binary.AppendUvarint(e.b, x) }
func (e *encoder) varint(x int64)   { e.b = binary.AppendVarint(e.b, x) }

func (e *encoder) text(s string) {
	e.uvarint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) bool(b bool) {
	if b {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) vector(v *resources.Vector) {
	kinds := byte(0)
	for k, q := range v {
		if q != 0 {
			kinds |= 1 << k
		}
	}
	e.b = append(e.b, kinds)
	for _, q := range v {
		if q != 0 {
			e.uvarint(uint64(q))
		}
	}
}

func (e *encoder) machine(m MachineID) {
	node, g := uint64(m.Node())<<1, m.generation()
	switch {
	case !m.named() || m.tag() != e.tag:
		e.uvarint(node | 1)
		e.uvarint(0)
		e.uvarint(uint64(m))
	case g > 0:
		e.uvarint(node | 1)
		e.uvarint(uint64(g))
	default:
		e.uvarint(node)
	}
}

func (e *encoder) allocation(a AllocationID) {
	e.uvarint(uint64(a.node()))
	if foreign := a.tag() != e.tag; foreign {
		e.uvarint(uint64(a.slot())<<1 | 1)
		e.uvarint(a.place)
	} else {
		e.uvarint(uint64(a.slot()) << 1)
	}
	e.uvarint(a.seq)
}

func (e *encoder) allocations(all []AllocationID) {
	e.uvarint(uint64(len(all)))
	for _, a := range all {
		e.allocation(a)
	}
}

func (e *encoder) time(t time.Time) {
	switch {
	case t.IsZero():
		e.b = append(e.b, noTime)
	case time.Unix(0, t.UnixNano()).Equal(t):
		e.b = binary.LittleEndian.AppendUint64(append(e.b, nanosTime), uint64(t.UnixNano()))
	default:
		e.b = append(e.b, longTime)
		e.varint(t.Unix())
		e.uvarint(uint64(t.Nanosecond()))
	}
}

func (e *encoder) mask(m *Mask) {
	if e.bool(m != nil); m != nil {
		e.uvarint(uint64(len(*m)))
		for _, word := range *m {
			e.uvarint(word)
		}
	}
}

func (e *encoder) limits(l *Limits) {
	e.bool(l.Held != nil)
	if l.Held != nil {
		e.vector(l.Held)
	}
	e.varint(int64(l.Jobs))
	e.varint(int64(l.Gang))
	e.varint(int64(l.Lowest))
	e.varint(int64(l.Highest))
	e.bool(l.Divisible)
	if l.Machines == nil {
		e.mask(nil)
	} else {
		e.mask(&l.Machines)
	}
}

func (e *encoder) attributes(attributes map[string]string) {
	e.uvarint(uint64(len(attributes)))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		e.text(key)
		e.text(attributes[key])
	}
}

// encode makes the bytes of an operation of this copy of the cell.
func (op *Operation) encode() {
	e := encoder{b: make([]byte, 0, 64), tag: op.cell.tag}
	e.b = append(e.b, byte(op.kind))
	if op.kind <= deputyOp {
		e.uvarint(op.scheduler.owner.num)
		e.uvarint(op.scheduler.epoch)
	}
	switch op.kind {
	case commitOp:
		e.txn(op.tx)
	case releaseOp:
		e.allocation(op.allocation)
	case restrictOp:
		e.mask(op.mask)
	case deputyOp, registerOp, takeOp:
		e.text(op.name)
		e.limits(&op.limits)
	case replaceOp, accountOp:
		e.text(op.name)
	case addOp:
		e.text(op.described.Name)
		e.vector(&op.described.Capacity)
		e.attributes(op.described.Attributes)
	case removeOp, drainOp, resumeOp:
		e.machine(op.machine)
	case capacityOp:
		e.machine(op.machine)
		e.vector(&op.described.Capacity)
	case attributesOp:
		e.machine(op.machine)
		e.attributes(op.described.Attributes)
	}
	op.bytes = e.b
}

func (e *encoder) txn(tx *Txn) {
	flags := uint64(tx.Detect) << detectShift
	flag := func(f uint64, set bool) {
		if set {
			flags |= f
		}
	}
	flag(gangFlag, tx.Gang)
	flag(nowFlag, !tx.Now.IsZero())
	flag(graceFlag, tx.Grace != 0)
	flag(atFlag, !tx.at.IsZero())
	flag(reservesFlag, len(tx.reserves) > 0)
	e.uvarint(flags)
	if flags&nowFlag != 0 {
		e.time(tx.Now)
	}
	if flags&graceFlag != 0 {
		e.varint(int64(tx.Grace))
	}
	if flags&atFlag != 0 {
		e.time(tx.at)
	}
	if flags&reservesFlag != 0 {
		e.reserves(tx.reserves)
	}
	e.uvarint(uint64(len(tx.items)))
	var before Claim
	for i := range tx.items {
		e.item(&tx.items[i], &before, tx.Detect)
	}
}

// item appends an item. before is the last claim, as far as the next one may be like it.
func (e *encoder) item(it *item, before *Claim, detect Detection) {
	c := &it.claim
	if it.kind == releaseItem {
		e.b = append(e.b, byte(it.kind)<<kindShift)
		e.allocation(it.id)
		return
	}
	flags := byte(it.kind) << kindShift
	if it.kind != resizeItem && (c.Account != before.Account || c.Precedence != before.Precedence) {
		flags |= chargeFlag
	}
	if c.Need != before.Need {
		flags |= needFlag
	}
	if len(c.Victims) > 0 {
		flags |= victimsFlag
	}
	if c.Reservation != 0 || c.Grantee != nil {
		flags |= moreFlag
	}
	if len(it.from) > 0 {
		flags |= fromFlag
	}
	if it.known != nil {
		flags |= knownFlag
	}
	e.b = append(e.b, flags)
	if it.kind != resizeItem { // else its machine is that of from
		e.machine(c.Machine)
	}
	if flags&chargeFlag != 0 {
		e.uvarint(uint64(c.Account))
		e.varint(int64(c.Precedence))
		before.Account, before.Precedence = c.Account, c.Precedence
	}
	if flags&needFlag != 0 {
		e.vector(&c.Need)
		before.Need = c.Need
	}
	if flags&victimsFlag != 0 {
		e.allocations(c.Victims)
	}
	if flags&moreFlag != 0 {
		e.uvarint(uint64(c.Reservation))
		grantee := uint64(0)
		if c.Grantee != nil {
			grantee = c.Grantee.owner.num
		}
		e.uvarint(grantee)
	}
	if flags&fromFlag != 0 {
		e.allocations(it.from)
	}
	if flags&knownFlag != 0 {
		if detect == Coarse {
			e.uvarint(it.known.seq)
		} else {
			e.uvarint(uint64(it.known.claims))
			e.machine(it.known.spec.id)
		}
	}
}

func (e *encoder) reserves(reserves []reserving) {
	e.uvarint(uint64(len(reserves)))
	for i := range reserves {
		r := &reserves[i]
		if e.bool(r.end); r.end {
			e.uvarint(uint64(r.id))
			continue
		}
		e.time(r.until)
		e.uvarint(uint64(len(r.claims)))
		for n := range r.claims {
			c := &r.claims[n]
			e.machine(c.Machine)
			e.uvarint(uint64(c.Account))
			e.varint(int64(c.Precedence))
			e.vector(&c.Need)
		}
	}
}
