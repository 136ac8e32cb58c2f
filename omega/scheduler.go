package omega

import (
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/omega/internal/reclaim"
	"github.com/cellsched/cellsched/resources"
)

// Scheduler is one scheduler's access to a cell: the handle that it commits with, and the
// owner of its allocations. Schedulers are made by [Cell.Register], [Cell.Replace],
// [Cell.Take] and [Scheduler.Deputy]. The methods of a nil Scheduler fail with
// [resources.ErrNil], or return nothing.
//
// It belongs to one goroutine at a time, except where a method is safe for concurrent
// use; many goroutines are many schedulers. A commit that finds another one in progress
// fails with [ErrBusy].
type Scheduler struct {
	cell   *Cell
	owner  *owner
	epoch  uint64
	chief  *Scheduler     // that it works under, nil for most: see Deputy
	word   atomics.Uint64 // whether a commit is in progress, and how many there were: see counts
	counts *counts
	snap   *Snapshot      // made on first use; committing keeps it fresh
	token  wakeToken      // see Wait
	waits  atomics.Bool   // held by a Wait in progress, and by Leave while it passes the token on
	shown  uint64         // the number of the last mark that a Wait has told of
	told   atomics.Uint64 // the same of WaitMark
	heard  atomics.Uint64 // the news that WaitNews has returned

	// The tallies that claims are charged to.
	charges map[charge]*tally
	last    *tally // the one used last

	maker reclaim.Maker[version] // of versions; in the hands of the commit in progress

	doubt *Operation // the commit that has no outcome yet; nil for a cell without a journal
	sent  *Txn       // reused by commits through a journal

	_ [72]byte // to whole pairs of cache lines, of which no other object has a part
}

// charge is the key of a tally.
type charge struct {
	account    Account
	precedence Precedence
}

// owner is the state that a scheduler and its successors have in common. All goroutines
// may read it.
type owner struct {
	name     string
	num      uint64 // rises with each that registers, from 1
	hash     uint64 // of the name: unlike num it is the same in every cell
	limits   Limits
	mask     atomics.Pointer[Mask] // nil: all machines
	epoch    atomics.Uint64        // of the Scheduler that may commit
	jobs     jobs
	held     *amount // sum of the tallies; nil where no limit asks for it
	marks    atomics.Pointer[markNode]
	watchers watchers
	heard    atomics.Uint64 // how much there is to tell of

	// preempting counts the commits in progress that may preempt, a predecessor's
	// too: allocations that they have preempted may not be marked yet.
	preempting atomics.Int64

	tallies

	mu       atomics.Mutex // held to add a tally; guards the fields below
	byCharge map[charge]*tally
	left     atomics.Bool // written with mu held, read without

	chief      *owner // of its latest Scheduler; guarded by the cell's mutex
	chiefEpoch uint64 // the epoch of the Scheduler that its latest Scheduler works under

	counts *counts        // of its latest Scheduler, nil before the first; guarded by the cell's mutex
	past   counted        // by the earlier ones; guarded by the cell's mutex
	lost   atomics.Uint64 // allocations that were preempted, for all its Schedulers

	_ [16]byte // to whole cache lines
}

// mayClaim reports whether a machine is in the mask.
func (o *owner) mayClaim(node uint32) bool {
	m := o.mask.Load()
	return m == nil || m.Has(locality.Node(node))
}

// Register adds a scheduler to the cell. Errors: [ErrName] for a name that is invalid or
// taken, [ErrLimit] or [resources.ErrQuantity] for invalid limits, [ErrTooMany] beyond
// 2^20 schedulers.
func (c *Cell) Register(name string, limits Limits) (*Scheduler, error) {
	if c.none() {
		return nil, absent("cell")
	}
	if c.journal != nil {
		op := &Operation{kind: registerOp, name: name, limits: limits}
		err := c.through(context.Background(), op)
		return op.made, err
	}
	return c.registerAs(name, limits)
}

func (c *Cell) registerAs(name string, limits Limits) (*Scheduler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.register(name, limits)
}

// register is Register with the mutex held.
func (c *Cell) register(name string, limits Limits) (*Scheduler, error) {
	if err := checkName("scheduler", name); err != nil {
		return nil, err
	}
	if err := limits.check(name); err != nil {
		return nil, err
	}
	if c.owners[name] != nil {
		return nil, fmt.Errorf("%w: scheduler %q is registered already", ErrName, name)
	}
	if len(c.owners) == maxSchedulers {
		return nil, refuse(ErrTooMany, "scheduler %q is one more than %d", name, maxSchedulers)
	}
	return c.scheduler(c.enroll(name, limits)), nil
}

// enroll adds an owner, with the mutex held.
func (c *Cell) enroll(name string, limits Limits) *owner {
	c.enrolled++
	limits = limits.clone() // a caller that goes on with its mask would change this copy of the cell alone
	o := &owner{name: name, num: c.enrolled, limits: limits, hash: uint64(crc32.Checksum([]byte(name), crc32.MakeTable(crc32.Castagnoli)))}
	if limits.Machines != nil {
		o.mask.Store(&limits.Machines)
	}
	if limits.Held != nil {
		o.held = new(amount)
	}
	c.owners[name] = o
	return o
}

// scheduler makes a Scheduler of an owner, with the mutex held.
func (c *Cell) scheduler(o *owner) *Scheduler {
	c.makers++
	o.past = o.counted()
	lost := o.lost.Load()
	if o.counts != nil {
		o.counts.lostThen.Store(lost + 1)
	}
	o.counts = &counts{lostBefore: lost}
	s := &Scheduler{
		cell: c, owner: o, epoch: o.epoch.Load(), counts: o.counts, charges: make(map[charge]*tally),
		maker: reclaim.NewMaker[version](c.makers),
	}
	o.counts.word = &s.word
	return s
}

// Name returns the name that the scheduler was registered with.
func (s *Scheduler) Name() string {
	if s.none() {
		return ""
	}
	return s.owner.name
}

// Cell returns the scheduler's cell. Safe for concurrent use.
func (s *Scheduler) Cell() *Cell {
	if s.none() {
		return nil
	}
	return s.cell
}

// Epoch returns the number of predecessors of this name. Safe for concurrent use.
func (s *Scheduler) Epoch() uint64 {
	if s.none() {
		return 0
	}
	return s.epoch
}

// Usage returns the sum of the scheduler's allocations, with the guarantee of
// [Cell.Usage]. Cost: O(accounts it serves, by precedence). Safe for concurrent use,
// lock-free.
func (s *Scheduler) Usage() resources.Vector {
	if s.none() {
		return resources.Vector{}
	}
	return s.owner.used()
}

// Restrict sets the mask of machines that the scheduler may claim, nil for all. Disjoint
// masks partition a cell. A mask is about numbers, so it includes a later machine of a
// number. It holds for commits that begin after the return; allocations stay. The caller
// must not change the mask afterwards. Safe for concurrent use. Errors: [ErrSuperseded],
// [ErrLeft]; with a journal, [ErrOutcome] if ctx ends before it answers.
func (s *Scheduler) Restrict(ctx context.Context, m Mask) error {
	switch {
	case s.none():
		return absent("scheduler")
	case ctx == nil:
		return absent("context")
	}
	mask := &m
	if m == nil {
		mask = nil
	} else if s.cell.journal != nil {
		mask = new(slices.Clone(m)) // ctx may end before it is applied
	}
	if s.cell.journal != nil {
		return s.cell.through(ctx, &Operation{kind: restrictOp, scheduler: s, mask: mask})
	}
	return s.restrict(mask)
}

// restrict is Restrict for a scheduler that a cell has made.
func (s *Scheduler) restrict(mask *Mask) error {
	if err := s.setMask(mask); err != nil {
		return err
	}
	s.cell.wakeOwner(s.owner)
	s.owner.heard.Add(1)
	s.owner.watchers.tell(s.cell)
	return nil
}

// setMask replaces the mask, unless the scheduler is superseded. It takes the
// mutex, so that it comes before a cut or a replacement or after it.
func (s *Scheduler) setMask(mask *Mask) error {
	s.cell.mu.Lock()
	defer s.cell.mu.Unlock()
	if s.superseded() {
		return s.supersededError()
	}
	s.owner.mask.Store(mask)
	return nil
}

// BeginJob admits a job: see [Limits]. Safe for concurrent use, lock-free. Errors:
// [ErrLimit], [ErrSuperseded], [ErrLeft].
func (s *Scheduler) BeginJob() error {
	if s.none() {
		return absent("scheduler")
	}
	if s.cell.journal != nil {
		return s.cell.through(context.Background(), &Operation{kind: beginJobOp, scheduler: s})
	}
	return s.beginJob()
}

// beginJob is BeginJob for a scheduler that a cell has made.
func (s *Scheduler) beginJob() error {
	for {
		was := s.owner.jobs.Load() // before the epoch, as Replace changes both
		if s.superseded() {
			return s.supersededError()
		}
		if most := s.owner.limits.Jobs; most > 0 && was.count() >= int64(most) {
			return limit("scheduler %q: %d jobs admitted, limit of %d", s.owner.name, was.count(), most)
		}
		if s.owner.jobs.change(s.cell, was, 1) {
			return nil
		}
	}
}

// EndJob ends an admitted job. Safe for concurrent use, lock-free. Errors: [ErrUnknown]
// if none is admitted, [ErrSuperseded], [ErrLeft].
func (s *Scheduler) EndJob() error {
	if s.none() {
		return absent("scheduler")
	}
	if s.cell.journal != nil {
		return s.cell.through(context.Background(), &Operation{kind: endJobOp, scheduler: s})
	}
	return s.endJob()
}

// endJob is EndJob for a scheduler that a cell has made.
func (s *Scheduler) endJob() error {
	for {
		was := s.owner.jobs.Load() // before the epoch, as Replace changes both
		if s.superseded() {
			return s.supersededError()
		}
		if was.count() == 0 {
			return unknown("job: scheduler %q has none admitted", s.owner.name)
		}
		if s.owner.jobs.change(s.cell, was, -1) {
			return nil
		}
	}
}

// Allocations walks the scheduler's live allocations as [Cell.Allocations] does, at its
// cost.
func (s *Scheduler) Allocations() iter.Seq[Allocation] {
	return func(yield func(Allocation) bool) {
		if s.none() {
			return
		}
		for a := range s.cell.Allocations() {
			if a.Scheduler == s.owner.name && !yield(a) {
				return
			}
		}
	}
}

// charged returns the tally that a claim is charged to.
func (s *Scheduler) charged(a Account, p Precedence) *tally {
	if t := s.last; t != nil && t.account == a && t.precedence == p {
		return t
	}
	t := s.charges[charge{a, p}]
	if t == nil {
		t = s.cell.tally(s.owner, a, p)
		s.charges[charge{a, p}] = t
	}
	s.last = t
	return t
}

// tally returns the tally of an owner, which it makes on first use.
func (c *Cell) tally(o *owner, a Account, p Precedence) *tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.byCharge[charge{a, p}]; t != nil {
		return t
	}
	t := &tally{owner: o, account: a, precedence: p}
	if o.byCharge == nil {
		o.byCharge = make(map[charge]*tally)
	}
	o.byCharge[charge{a, p}] = t
	o.add(t)
	if o.left.Load() {
		return t // of a commit that began before its scheduler was replaced, and is refused
	}
	c.numbers.give(t)
	l := c.ledger(a)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(t)
	return t
}
