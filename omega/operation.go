package omega

import "math/bits"

// opKind is the kind of an operation. The numbers are in journals, and stay.
type opKind uint8

const (
	commitOp opKind = iota + 1
	releaseOp
	beginJobOp
	endJobOp
	leaveOp
	restrictOp
	deputyOp
	registerOp
	replaceOp
	takeOp
	accountOp
	addOp
	removeOp
	drainOp
	resumeOp
	capacityOp
	attributesOp
	opKinds
)

// Operation is one change of a cell on its way through a [Journal]. The journal keeps its
// bytes, and [Cell.Apply] applies them to other copies of the cell. It must not be used
// after Apply or Fail has returned.
type Operation struct {
	kind  opKind
	cell  *Cell
	bytes []byte
	done  chan struct{} // receives one value once there is a result

	// The arguments, as far as the kind has them.
	scheduler  *Scheduler // that changes the cell; nil for one of another copy that is not known
	tx         *Txn       // a copy of asked, or of another copy's transaction
	asked      *Txn       // the caller's
	allocation AllocationID
	machine    MachineID
	described  Machine // all of a new machine, the capacity or the attributes of another one
	name       string
	limits     Limits
	mask       *Mask

	// The result.
	granted int
	made    *Scheduler
	account Account
	lost    []Allocation
	err     error
}

// Bytes returns the encoded operation, read only, until Apply or Fail is called.
func (op *Operation) Bytes() []byte { return op.bytes }

// Apply applies the operation to the cell of its caller, and hands the caller the result.
// One goroutine calls it, in the order of the journal. The digest of the outcome is the
// same in every copy of the cell.
func (op *Operation) Apply() (digest uint64) {
	op.perform()
	digest = op.digest()
	if op.made != nil {
		op.cell.journal.own[op.made.owner.num] = true
	}
	op.done <- struct{}{}
	return digest
}

// Fail hands the caller an error instead of a result. The operation may be in the order
// if the error wraps [ErrOutcome], and must not be otherwise.
func (op *Operation) Fail(err error) {
	op.err = err
	op.done <- struct{}{}
}

// Apply applies an operation by its [Operation.Bytes]: one of another copy of the cell,
// or one of this copy that failed with [ErrOutcome] and is in the order after all. It is
// called in the order of the journal, by the goroutine that calls [Operation.Apply].
// digest is as there. Invalid bytes change nothing, and the error wraps [ErrDamaged]. An
// operation that the cell refuses is no error: all copies refuse it.
func (c *Cell) Apply(op []byte) (digest uint64, err error) {
	switch {
	case c.none():
		return 0, absent("cell")
	case c.journal == nil:
		return 0, absent("journal")
	}
	foreign := &c.journal.foreign
	*foreign = Operation{cell: c, bytes: op}
	if err := foreign.decode(); err != nil {
		return 0, err
	}
	foreign.perform()
	digest = foreign.digest()
	if s := foreign.scheduler; foreign.kind == commitOp && s != nil && !c.journal.own[s.owner.num] {
		s.show(foreign.tx) // no snapshot of this copy, but versions are to be used again
	}
	if foreign.made != nil {
		delete(c.journal.own, foreign.made.owner.num) // the caller's is superseded
	}
	return digest, nil
}

// perform changes the cell.
func (op *Operation) perform() {
	c, s := op.cell, op.scheduler
	if s == nil && op.kind <= deputyOp {
		op.err = ErrSuperseded
		return
	}
	switch op.kind {
	case commitOp:
		if op.err = op.tx.check(s); op.err == nil && s.superseded() {
			op.err = s.supersededError()
		}
		if op.err == nil {
			op.granted = s.apply(op.tx)
		}
	case releaseOp:
		op.err = s.release(op.allocation)
	case beginJobOp:
		op.err = s.beginJob()
	case endJobOp:
		op.err = s.endJob()
	case leaveOp:
		if op.err = s.leave(); op.err == nil {
			delete(c.journal.handles, s.owner.num)
			delete(c.journal.own, s.owner.num)
		}
	case restrictOp:
		op.err = s.restrict(op.mask)
	case deputyOp:
		op.made, op.err = s.deputy(op.name, op.limits)
	case registerOp:
		op.made, op.err = c.registerAs(op.name, op.limits)
	case replaceOp:
		op.made, op.err = c.replace(op.name)
	case takeOp:
		op.made, op.err = c.take(op.name, op.limits)
	case accountOp:
		op.account, op.err = c.addAccount(op.name)
	case addOp:
		op.machine, op.err = c.add(op.described)
	case removeOp:
		op.lost, op.err = c.remove(op.machine)
	case drainOp:
		op.err = c.drain(op.machine)
	case resumeOp:
		op.err = c.resume(op.machine)
	case capacityOp:
		op.err = c.setCapacity(op.machine, op.described.Capacity)
	case attributesOp:
		op.err = c.setAttributes(op.machine, op.described.Attributes)
	}
	if op.made != nil {
		c.journal.handles[op.made.owner.num] = op.made
	}
}

// digest returns a number that tells outcomes apart.
func (op *Operation) digest() uint64 {
	d := mix(uint64(op.kind), 1)
	if op.err != nil {
		return mix(d, ^uint64(0))
	}
	switch op.kind {
	case commitOp:
		for i := range op.tx.items {
			it := &op.tx.items[i]
			if d = mix(d, uint64(it.verdict)); it.verdict == done && it.kind != releaseItem {
				d = mix(d, it.id.place&^(tagMask<<(2*indexBits))^bits.RotateLeft64(it.id.seq, 40))
			}
		}
		for i := range op.tx.reserves {
			if r := &op.tx.reserves[i]; r.err == nil {
				d = mix(d, uint64(r.id))
			} else {
				d = mix(d, ^uint64(0))
			}
		}
	case addOp:
		d = mix(d, uint64(op.machine.Node())|uint64(op.machine.generation())<<indexBits)
	case accountOp:
		d = mix(d, uint64(op.account))
	case removeOp:
		d = mix(d, uint64(len(op.lost)))
	case deputyOp, registerOp, replaceOp, takeOp:
		d = mix(mix(d, op.made.owner.num), op.made.epoch)
	}
	return d
}

// mix adds x to a digest.
func mix(d, x uint64) uint64 { return bits.RotateLeft64(d^x, 29) * golden }
