package omega

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/omega/internal/atomics"
)

// ErrJournal reports that the journal of a cell has failed for good: no later change of
// the cell succeeds. If an error wraps [ErrOutcome] too, its operation may be in the
// order.
var ErrJournal = errors.New("omega: journal takes no more operations")

// Journal brings the changes of a cell into one order, and keeps them in it.
type Journal interface {
	// Append puts op behind the operations that the order has. The cell sends without a
	// bound: a call that ends with its context leaves its operation there. A commit, or a new
	// account, that is asked for again is not sent again. Append does not wait: any
	// goroutine calls it, some with locks held. Once op has its place in the order, one
	// goroutine calls [Operation.Apply], in the order. If op never gets a place, or the
	// journal cannot tell, a goroutine calls [Operation.Fail] instead, with an error that wraps
	// [ErrJournal] where no later operation gets a place either.
	Append(op *Operation)
}

// journaled is the state of a cell that changes through a journal.
type journaled struct {
	Journal

	// handles has a Scheduler for each registered owner, by its num: the latest that
	// this copy of the cell has made. Only operations that are applied use it.
	handles map[uint64]*Scheduler
	// own has the nums of those that callers in this process have. The snapshots of those
	// belong to their callers.
	own     map[uint64]bool
	foreign Operation // the operation of another copy that is being applied
	foreTx  Txn       // its transaction

	mu       atomics.Mutex         // guards accounts
	accounts map[string]*Operation // new accounts on their way, by name
}

// SetJournal sends all later changes of the cell through j: a change happens when its
// operation is applied, in the order of j. Methods that change the cell wait for that,
// those without a context until the journal applies the operation or fails it.
//
// No other goroutine may use the cell yet. It may have machines and accounts, and the
// schedulers of a restored cell, whose successors [Cell.Take] returns. Copies that begin
// from one [Cell.Save] and apply the same operations are equal: every Save has the same
// bytes. Errors: [ErrBusy] for a cell that has a journal or has made schedulers.
func (c *Cell) SetJournal(j Journal) error {
	switch {
	case c.none():
		return absent("cell")
	case j == nil:
		return absent("journal")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.journal != nil || c.makers > 0 {
		return fmt.Errorf("%w: cell with a journal or %d schedulers, want one that is new or restored", ErrBusy, c.makers)
	}
	c.journal = &journaled{Journal: j, handles: make(map[uint64]*Scheduler), own: make(map[uint64]bool), accounts: make(map[string]*Operation)}
	c.journal.foreign.cell = c
	for _, o := range c.owners {
		c.journal.handles[o.num] = c.scheduler(o)
	}
	for _, o := range c.owners {
		if o.chief != nil {
			c.journal.handles[o.num].chief = c.handle(o.chief, o.chiefEpoch)
		}
	}
	return nil
}

// handle returns the Scheduler of an owner at an epoch, or one that is superseded.
func (c *Cell) handle(o *owner, epoch uint64) *Scheduler {
	if s := c.journal.handles[o.num]; s != nil && s.epoch == epoch {
		return s
	}
	return &Scheduler{cell: c, owner: o, epoch: epoch}
}

// through sends op through the journal and waits for it.
func (c *Cell) through(ctx context.Context, op *Operation) error {
	op.cell, op.done = c, make(chan struct{}, 1)
	op.encode()
	c.journal.Append(op)
	if err := op.wait(ctx); err != nil {
		return err
	}
	return op.err
}

// wait waits until op was applied or has failed. It returns an [ErrOutcome] if ctx ends
// before that.
func (op *Operation) wait(ctx context.Context) error {
	select {
	case <-op.done:
		return nil
	default:
	}
	select {
	case <-op.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcome, context.Cause(ctx))
	}
}

// CommitContext is [Scheduler.Commit] with a context, which matters for a cell with a
// journal: it returns nil once the journal keeps tx and the cell has it.
//
// If ctx ends before, or the journal cannot tell, the error wraps [ErrOutcome]: tx is in
// doubt, and may be applied later as it was at the first call. Call CommitContext with
// the same tx again to wait for its outcome. Until then a commit of any other transaction
// fails with ErrOutcome, and tx.Reset does nothing.
func (s *Scheduler) CommitContext(ctx context.Context, tx *Txn) (granted int, err error) {
	switch {
	case s.none():
		return 0, absent("scheduler")
	case tx == nil:
		return 0, absent("transaction")
	case ctx == nil:
		return 0, absent("context")
	}
	word, free := s.occupy()
	if !free {
		return 0, fmt.Errorf("%w: %q", ErrBusy, s.owner.name)
	}
	if s.cell.journal == nil {
		granted, err = s.commit(tx)
	} else {
		granted, err = s.commitThrough(ctx, tx)
	}
	// Not deferred, which takes 7 ns: no callee of commit panics.
	if err == nil {
		word = committed(word, granted)
	}
	s.vacate(word)
	return granted, err
}

// commitThrough is commit for a cell with a journal. What belongs to the caller's goroutine
// is done here. Operation.perform does the rest.
func (s *Scheduler) commitThrough(ctx context.Context, tx *Txn) (granted int, err error) {
	if s.doubt == nil {
		if !tx.begin() {
			return 0, errCommitted
		}
		if err = tx.check(s); err == nil && s.superseded() {
			err = s.supersededError()
		}
		if err != nil {
			tx.reopen()
			s.Pass()
			return 0, err
		}
		sent := new(Txn)
		if s.sent != nil {
			sent, s.sent = s.sent, nil
		}
		sent.copy(tx)
		s.note(sent)
		sent.stripClocks()
		s.doubt = &Operation{kind: commitOp, cell: s.cell, scheduler: s, tx: sent, asked: tx, done: make(chan struct{}, 1)}
		s.doubt.encode()
		s.cell.journal.Append(s.doubt)
	} else if s.doubt.asked != tx {
		return 0, fmt.Errorf("%w: scheduler %q: an earlier transaction is in doubt, want a commit of that one", ErrOutcome, s.owner.name)
	}
	op := s.doubt
	if err := op.wait(ctx); err != nil {
		return 0, err
	}
	if errors.Is(op.err, ErrOutcome) {
		op.done <- struct{}{} // the journal cannot tell, and will not when it is asked again
		return 0, op.err
	}
	s.doubt = nil
	if op.err != nil {
		tx.reopen()
	} else {
		s.show(op.tx)
		s.counts.note(op.tx, op.granted)
		tx.adoptOutcome(op.tx)
		tx.end()
	}
	op.tx.Reset()
	s.sent = op.tx
	s.Pass()
	return op.granted, op.err
}

// copy makes t, which is empty, ask for the same as o. Nothing that the caller of o may change
// is shared with it.
func (t *Txn) copy(o *Txn) {
	t.Gang, t.Detect, t.Now, t.Grace = o.Gang, o.Detect, o.Now, o.Grace
	t.items = append(t.items, o.items...)
	for i := range t.items {
		it := &t.items[i]
		it.from, it.claim.Victims = slices.Clone(it.from), slices.Clone(it.claim.Victims)
	}
	t.reserves = append(t.reserves, o.reserves...)
	for i := range t.reserves {
		t.reserves[i].claims = slices.Clone(t.reserves[i].claims)
	}
}

// adoptOutcome copies into t the outcome of o, its copy that was committed.
func (t *Txn) adoptOutcome(o *Txn) {
	t.cell = o.cell
	t.items = append(t.items[:0], o.items...)
	t.reserves = append(t.reserves[:0], o.reserves...)
	t.refusals = append(t.refusals[:0], o.refusals...)
}

// stripClocks removes the readings of the monotonic clock from the times of t: other copies
// of the cell do not have them, and compare times by the wall clock.
func (t *Txn) stripClocks() {
	t.Now, t.at = t.Now.Round(0), t.at.Round(0)
	for i := range t.reserves {
		t.reserves[i].until = t.reserves[i].until.Round(0)
	}
}

// Take registers a scheduler of that name, or replaces the one that has it. A program
// that restarts goes on so with what its predecessor held; a replaced scheduler keeps its
// limits. Errors: those of [Cell.Register] and [Cell.Replace]; with a journal,
// [ErrOutcome] if ctx ends before it answers. A later call then replaces the scheduler
// that this one may have made.
func (c *Cell) Take(ctx context.Context, name string, limits Limits) (*Scheduler, error) {
	switch {
	case c.none():
		return nil, absent("cell")
	case ctx == nil:
		return nil, absent("context")
	}
	if c.journal == nil {
		return c.take(name, limits)
	}
	op := &Operation{kind: takeOp, name: name, limits: limits.clone()}
	if err := c.through(ctx, op); err != nil {
		return nil, err
	}
	return op.made, nil
}

// take is Take for an operation that is applied.
func (c *Cell) take(name string, limits Limits) (*Scheduler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.owners[name]; o != nil {
		return c.succeedTo(o), nil
	}
	return c.register(name, limits)
}
