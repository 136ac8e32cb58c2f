package offers

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// planner is the part of a master that offers room, answers requests and revokes: one call
// at a time plans, in the master's name.
//
//	plan, with the mutex ──▶ commit, without it ──▶ apply the outcome, with it ──▶ plan
//
// Invariants, also while the mutex is free:
//
//   - The call that plans alone uses the master's attempt and reads its snapshot. It alone
//     makes offers, grants requests, begins and ends revocations, and has departures leave.
//   - Other calls change what they are about, and note what is to be looked at: see replan.
//     They find picks and requests on the way as they were planned, and do not end those.
//   - A pick on the way counts in member.picked and member.offered, and is charged.
//     A request on the way is in registry.requests until it has an outcome, unless its
//     framework takes it back: then it is not answered, and the room is released.
//   - While an outcome is in doubt nothing is planned. planner.hand is to follow it.
type planner struct {
	*client
	endCall func() // ends a call of the master

	attempt   omega.Attempt
	snap      *omega.Snapshot        // as the last Step has seen the cell
	on        bool                   // a call plans
	ctx       func() context.Context // of that call, nil if it waits for no store
	hand      func(error)            // applies the outcome of the attempt, while that is on the way or in doubt
	readsSent uint64                 // client.reads, when the transaction was sent
	behind    lag                    // what is left to the call that plans, or to the next Step
	failure   error                  // of the store, for which nothing more is planned before the next Step
	fails     int                    // steps in a row that the store has failed
	retry     time.Time              // when that is to be
	changed   []omega.MachineState
	settled   chan struct{} // closed when a call has planned or an accept has its outcome; nil if none waits
}

func newPlanner(c *client, unlock func()) *planner {
	p := &planner{client: c, endCall: unlock}
	p.attempt.Store, p.snap = c.storeOf(c.sched), c.sched.Snapshot()
	return p
}

// lag is the part of the planning that is left to do.
type lag uint8

const (
	planNone        lag = iota
	planRooms           // machines that have changed
	planRevocations     // those of requests, too
	planRequests        // all of them, too
)

// later has that much planned by the call that plans, or by the next one.
func (p *planner) later(what lag) { p.behind = max(p.behind, what) }

// begin has the call plan.
func (p *planner) begin(ctx func() context.Context) {
	p.on, p.ctx, p.failure = true, ctx, nil
}

// context returns the context of the call that plans.
func (p *planner) context() context.Context {
	if p.ctx == nil {
		return context.Background()
	}
	return p.ctx()
}

// finish ends the planning of the call.
func (p *planner) finish() {
	p.on, p.ctx = false, nil
	p.signal()
}

// signal has calls look again that wait for a call that plans, or for an accept.
func (p *planner) signal() {
	if p.settled != nil {
		close(p.settled)
		p.settled = nil
	}
}

// wait waits, with the mutex free, until a call has planned or an accept has its outcome.
func (p *planner) wait(ctx context.Context) error {
	if p.settled == nil {
		p.settled = make(chan struct{})
	}
	settled := p.settled
	p.endCall()
	defer p.mu.Lock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// halted reports whether the call that plans is to end: an outcome is in doubt, the store has
// failed, or a successor has taken over.
func (p *planner) halted() bool {
	return p.hand != nil || p.failure != nil || p.fenced != nil
}

// send commits what the attempt is for with the mutex free, and applies the outcome. It
// does neither in doubt: see resume.
func (p *planner) send(apply func(error)) {
	p.hand, p.readsSent = apply, p.reads
	p.resume()
}

// resume commits the attempt that is in hand, the first time or again.
func (p *planner) resume() {
	if p.hand == nil {
		return
	}
	a := &p.attempt
	_, err := p.commit(p.context(), a, p.now)
	if p.note(err); err != nil && p.fenced == nil {
		p.fail(err)
	}
	if a.Doubt() > 0 {
		return
	}
	apply := p.hand
	p.hand = nil
	apply(err)
}

// fail notes that nothing more is to be planned before the next Step.
func (p *planner) fail(err error) {
	p.fails++
	least := min(p.cfg.Interval.or(DefaultInterval), maxRefuse)
	wait := omega.Backoff{Min: least, Max: 16 * least}
	p.failure, p.retry = err, p.now.Add(wait.After(p.fails))
}

// commit commits an attempt with the mutex free.
func (p *planner) commit(ctx context.Context, a *omega.Attempt, now time.Time) (granted int, err error) {
	if p.remote() {
		p.endCall() // frameworks are told before a commit that may take long
	} else {
		p.mu.Unlock()
	}
	defer p.mu.Lock()
	return a.Commit(ctx, now)
}

// refresh takes notice of the machines that have changed. Where the store may wait, the
// mutex is free meanwhile.
func (p *planner) refresh(ctx context.Context, see func(omega.MachineState)) error {
	if !p.remote() {
		return p.look(ctx, p.now, see)
	}
	p.changed = p.changed[:0]
	err := p.refreshFree(ctx, p.now)
	for i := range p.changed {
		see(p.changed[i])
	}
	clear(p.changed)
	return err
}

// refreshFree lists the machines that have changed, with the mutex free.
func (p *planner) refreshFree(ctx context.Context, now time.Time) error {
	p.endCall()
	defer p.mu.Lock()
	return p.look(ctx, now, func(st omega.MachineState) { p.changed = append(p.changed, st) })
}

// look refreshes the snapshot.
func (p *planner) look(ctx context.Context, now time.Time, see func(omega.MachineState)) error {
	snap, err := p.attempt.BeginEach(ctx, now, see)
	if err == nil {
		p.snap = snap
	}
	return err
}

// failed returns why nothing more is planned, nil if that is not so.
func (p *planner) failed() error {
	if p.fenced != nil || p.failure == nil {
		p.fails = 0
		return p.fenced
	}
	return fault.New("offers", "step", p.failure)
}
