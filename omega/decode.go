package omega

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// decoder reads the parts of an operation. After an error all that it reads is zero.
type decoder struct {
	b    []byte
	cell *Cell
	bad  string // the part that was wrong, or ""
}

func (d *decoder) fail(part string) {
	if d.bad == "" {
		d.bad = part
	}
	d.b = nil
}

func (d *decoder) uvarint() uint64 {
	x, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return x
}

func (d *decoder) varint() int64 {
	x := d.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// below reads a number that is less than limit.
func (d *decoder) below(limit uint64, part string) uint64 {
	x := d.uvarint()
	if x >= limit {
		d.fail(part)
		return 0
	}
	return x
}

// count reads the number of parts of one byte or more that follow.
// int reads a number of this platform's int.
func (d *decoder) int(part string) int {
	x := d.varint()
	if int64(int(x)) != x {
		d.fail(part)
	}
	return int(x)
}

func (d *decoder) count(part string) int { return int(d.below(uint64(len(d.b))+1, part)) }

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("byte")
		return 0
	}
	x := d.b[0]
	d.b = d.b[1:]
	return x
}

func (d *decoder) bool() bool {
	x := d.byte()
	if x > 1 {
		d.fail("flag")
	}
	return x == 1
}

func (d *decoder) text() string {
	n := d.count("length of a text")
	if n > len(d.b) {
		d.fail("text")
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) vector() (v resources.Vector) {
	kinds := d.byte()
	for k := 0; kinds != 0; k, kinds = k+1, kinds>>1 {
		if kinds&1 != 0 {
			v[k] = int64(d.uvarint())
		}
	}
	return v
}

func (d *decoder) machine() MachineID {
	x := d.below(2*maxIndex, "machine")
	if x&1 == 0 {
		return machineID(uint32(x>>1), 0, d.cell.tag)
	}
	if g := d.below(lastGeneration+1, "generation"); g > 0 {
		return machineID(uint32(x>>1), uint32(g), d.cell.tag)
	}
	return MachineID(d.uvarint())
}

func (d *decoder) allocation() AllocationID {
	node, slot := d.below(maxIndex, "machine of an allocation"), d.below(2*maxIndex, "slot")
	a := allocationID(uint32(node), uint32(slot>>1), d.cell.tag, 0)
	if slot&1 != 0 {
		a.place = d.uvarint()
	}
	a.seq = d.below(vacant, "number of an allocation")
	return a
}

func (d *decoder) allocations() (all []AllocationID) {
	n := d.count("number of allocations")
	if n == 0 {
		return nil
	}
	all = make([]AllocationID, 0, n)
	for range n {
		all = append(all, d.allocation())
	}
	return all
}

func (d *decoder) time() time.Time {
	switch d.byte() {
	case noTime:
		return time.Time{}
	case nanosTime:
		if len(d.b) < 8 {
			d.fail("time")
			return time.Time{}
		}
		nanos := binary.LittleEndian.Uint64(d.b)
		d.b = d.b[8:]
		return time.Unix(0, int64(nanos)).UTC()
	case longTime:
		seconds, nanos := d.varint(), d.below(1e9, "nanoseconds")
		return time.Unix(seconds, int64(nanos)).UTC()
	}
	d.fail("time")
	return time.Time{}
}

func (d *decoder) mask() *Mask {
	if !d.bool() {
		return nil
	}
	m := Mask{}
	for range d.count("length of a mask") {
		m = append(m, d.uvarint())
	}
	return &m
}

func (d *decoder) precedence() Precedence {
	p := d.varint()
	if p != int64(int32(p)) {
		d.fail("precedence")
	}
	return Precedence(p)
}

func (d *decoder) limits() (l Limits) {
	if d.bool() {
		held := d.vector()
		l.Held = &held
	}
	l.Jobs, l.Gang = d.int("number of jobs"), d.int("width of a gang")
	l.Lowest, l.Highest = d.precedence(), d.precedence()
	l.Divisible = d.bool()
	if m := d.mask(); m != nil {
		l.Machines = *m
	}
	return l
}

func (d *decoder) attributes() map[string]string {
	n := d.count("number of attributes")
	if n == 0 {
		return nil
	}
	all := make(map[string]string, n)
	for range n {
		key := d.text()
		all[key] = d.text()
	}
	return all
}

func (d *decoder) account() Account { return Account(d.below(1<<32, "account")) }

// decode reads the bytes of an operation of another copy of the cell.
func (op *Operation) decode() error {
	d := decoder{b: op.bytes, cell: op.cell}
	op.kind = opKind(d.byte())
	if op.kind == 0 || op.kind >= opKinds {
		d.fail("kind of the operation")
	} else if op.kind <= deputyOp {
		num, epoch := d.uvarint(), d.uvarint()
		if s := op.cell.journal.handles[num]; s != nil && s.epoch == epoch {
			op.scheduler = s
		}
	}
	switch op.kind {
	case commitOp:
		op.tx = &op.cell.journal.foreTx
		d.txn(op.tx)
	case releaseOp:
		op.allocation = d.allocation()
	case restrictOp:
		op.mask = d.mask()
	case deputyOp, registerOp, takeOp:
		op.name, op.limits = d.text(), d.limits()
	case replaceOp, accountOp:
		op.name = d.text()
	case addOp:
		op.described = Machine{Name: d.text(), Capacity: d.vector(), Attributes: d.attributes()}
	case removeOp, drainOp, resumeOp:
		op.machine = d.machine()
	case capacityOp:
		op.machine, op.described.Capacity = d.machine(), d.vector()
	case attributesOp:
		op.machine, op.described.Attributes = d.machine(), d.attributes()
	}
	if d.bad == "" && len(d.b) > 0 {
		d.fail("end")
	}
	if d.bad != "" {
		return fmt.Errorf("%w: operation of %d bytes, %x: want its %s", ErrDamaged, len(op.bytes), op.bytes[:min(len(op.bytes), 32)], d.bad)
	}
	return nil
}

func (d *decoder) txn(tx *Txn) {
	tx.Reset()
	flags := d.below((uint64(Coarse)+1)<<detectShift, "flags of a transaction")
	tx.Gang, tx.Detect = flags&gangFlag != 0, Detection(flags>>detectShift)
	tx.Now, tx.Grace = time.Time{}, 0
	if flags&nowFlag != 0 {
		tx.Now = d.time()
	}
	if flags&graceFlag != 0 {
		tx.Grace = time.Duration(d.varint())
	}
	if flags&atFlag != 0 {
		tx.at = d.time()
	}
	if flags&reservesFlag != 0 {
		d.reserves(tx)
	}
	var before Claim
	for range d.count("number of items") {
		i, it := tx.add()
		d.item(it, &before, tx.Detect)
		if it.kind == followerItem && (i == 0 || tx.items[i-1].kind > followerItem || len(it.from) > 0) {
			d.fail("first claim of an exchange")
		}
		if d.bad != "" {
			return
		}
	}
}

// item reads an item, which is zero. before is the last claim.
func (d *decoder) item(it *item, before *Claim, detect Detection) {
	flags := d.byte()
	it.kind = itemKind(flags >> kindShift)
	if it.kind == releaseItem {
		it.id = d.allocation()
		return
	}
	c := &it.claim
	if it.kind != resizeItem {
		c.Machine = d.machine()
	}
	if flags&chargeFlag != 0 {
		before.Account, before.Precedence = d.account(), d.precedence()
	}
	if flags&needFlag != 0 {
		before.Need = d.vector()
	}
	c.Account, c.Precedence, c.Need = before.Account, before.Precedence, before.Need
	if flags&victimsFlag != 0 {
		c.Victims = d.allocations()
	}
	if flags&moreFlag != 0 {
		c.Reservation = ReservationID(d.uvarint())
		c.Grantee = d.grantee()
	}
	if flags&fromFlag != 0 {
		it.from = d.allocations()
	}
	if it.kind == resizeItem && len(it.from) != 1 {
		d.fail("allocation of a resize")
	}
	if flags&knownFlag == 0 {
		return
	}
	if detect == Coarse {
		it.known = &version{seq: d.uvarint()}
		return
	}
	it.known = &version{claims: uint32(d.below(1<<32, "number of changes")), spec: new(spec)}
	it.known.spec.id = d.machine()
}

// grantee reads the num of a grantee. One that has left is as good as any: a record keeps
// the num alone.
func (d *decoder) grantee() *Scheduler {
	num := d.uvarint()
	if num == 0 {
		return nil
	}
	if s := d.cell.journal.handles[num]; s != nil {
		return s
	}
	return &Scheduler{cell: d.cell, owner: &owner{num: num}}
}

func (d *decoder) reserves(tx *Txn) {
	for range d.count("number of reservations") {
		if d.bool() {
			tx.Unreserve(ReservationID(d.uvarint()))
			continue
		}
		until := d.time()
		claims := make([]Claim, d.count("number of claims"))
		for n := range claims {
			claims[n] = Claim{Machine: d.machine(), Account: d.account(), Precedence: d.precedence(), Need: d.vector()}
		}
		tx.Reserve(until, claims...)
	}
}
