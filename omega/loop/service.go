package loop

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// ByService is an [Order] by the service that accounts have received. The next job is one
// of the account with the least. Service is the integral over time of the account's
// dominant share, divided by its weight.
//
// It suits cells in which more accounts wait than there is room for. There [ByShare] has
// no effect, since the accounts that wait hold nothing. Here, slot time converges to the
// weights. See [drf.FairQueue] for the rule and its bound.
//
//   - An account waits while a job of it is in the loop and not parked, backed off ones
//     included. Service counts while any account waits.
//   - Service counts all allocations of an account in the cell, by any scheduler.
//     Releases need no call. A change counts from the step that reads it: a step reads 64
//     of the accounts that wait or hold something, and the one served last. Where there
//     are n, each is read within n/64 steps.
//   - The jobs of one account go by precedence and then by arrival.
//
// ByService keeps no room for a job that fits nowhere: the next job has its turn.
//
// Orders are made by [NewByService]; [New] refuses a nil or zero ByService. A ByService
// belongs to the steps of its loop: the setters are for before the loop and for its
// callbacks. A type that wraps it embeds it, or the loop does not tell it of jobs that
// are backed off. Cost: O(log n) for a Push or Next of n accounts, and once a step the
// reads.
type ByService[K any] struct {
	usage  func(omega.Account) (resources.Vector, error)
	queue  *drf.FairQueue
	known  map[omega.Account]*served[K]
	byUser map[drf.User]*served[K]
	active ring[K] // tenants that wait or hold room
	// changed are the tenants that a read has found active, or active no longer.
	changed []*served[K]
	spare   []*drf.Run
	start   time.Time // of the first step
	now     time.Duration
}

// served is a tenant with its runs that were seen to start and not to end.
type served[K any] struct {
	tenant[K]
	runs    []*drf.Run // the oldest first, from ended on
	ended   int
	pending int // jobs in the loop that are not parked
	waits   bool
	active  bool
}

// NewByService returns an order over accounts that share a total, in base units. Usage
// returns the holdings of an account: it is [omega.Cell.Usage] of the cell. If usage
// returns an error, the account counts as empty.
//
//	order, err := loop.NewByService[string](total, cell.Usage)
//
// Errors: [resources.ErrNil] for no usage, [resources.ErrQuantity] and [drf.ErrEmpty]
// about the total.
func NewByService[K any](
	total resources.Vector, usage func(omega.Account) (resources.Vector, error),
) (*ByService[K], error) {
	if usage == nil {
		return nil, absent("usage")
	}
	queue, err := drf.NewFairQueue(total)
	if err != nil {
		return nil, fault.New("loop", "order by service", err)
	}
	return &ByService[K]{
		usage: usage, queue: queue,
		known: map[omega.Account]*served[K]{}, byUser: map[drf.User]*served[K]{},
	}, nil
}

// SetWeight changes the weight of an account, which is 1 before. Errors:
// [drf.ErrWeight], [resources.ErrNil].
func (b *ByService[K]) SetWeight(a omega.Account, weight float64) error {
	if !b.made() {
		return absent("receiver")
	}
	if err := b.queue.SetWeight(b.tenant(a).user, weight, b.now); err != nil {
		return fault.Newf("loop", err, "weight of account %d", a)
	}
	return nil
}

// SetTotal changes the total that the accounts share, in base units. Errors: see
// [NewByService].
func (b *ByService[K]) SetTotal(total resources.Vector) error {
	if !b.made() {
		return absent("receiver")
	}
	if err := b.queue.SetTotal(total, b.now); err != nil {
		return fault.New("loop", "order by service", err)
	}
	return nil
}

// Push brings in a job.
func (b *ByService[K]) Push(p *Pending[K]) {
	if !b.made() {
		return
	}
	t := b.tenant(p.job.Account)
	t.jobs.Push(p)
	b.settle(t)
}

// Next takes out the first job of the account that has received the least service.
func (b *ByService[K]) Next() *Pending[K] {
	if !b.made() {
		return nil
	}
	b.active.read(b.readUsage)
	for len(b.changed) > 0 { // a settle may read, and find more
		t := b.changed[len(b.changed)-1]
		b.changed = b.changed[:len(b.changed)-1]
		b.settle(t)
	}
	// An account with all its jobs backed off waits, and has no job to go.
	u, ok := b.queue.Pick(b.now, nil, func(u drf.User) bool { return len(b.byUser[u].jobs.jobs) > 0 })
	if !ok {
		return nil
	}
	t := b.byUser[u]
	b.active.served = &t.tenant
	p := t.jobs.Next()
	b.settle(t)
	return p
}

// Advance begins a step: see [Order].
func (b *ByService[K]) Advance(now time.Time) {
	if !b.made() {
		return
	}
	if b.start.IsZero() {
		b.start = now
	}
	b.now = now.Sub(b.start)
	b.active.fresh = false
}

// moved is told that a job goes from one state to another.
func (b *ByService[K]) moved(p *Pending[K], from, to state) {
	if from.pending() == to.pending() {
		return
	}
	t := b.tenant(p.job.Account)
	if to.pending() {
		t.pending++
	} else {
		t.pending--
	}
	b.settle(t)
}

// settle updates whether a tenant waits and is to be read.
func (b *ByService[K]) settle(t *served[K]) {
	switch waits := t.pending > 0 || len(t.jobs.jobs) > 0; {
	case waits && !t.waits:
		must(b.queue.Wait(t.user, resources.Vector{}, b.now))
		t.waits = true
	case !waits && t.waits:
		must(b.queue.Park(t.user, b.now))
		t.waits = false
	}
	switch active := t.waits || t.held != (resources.Vector{}); {
	case active && !t.active:
		t.active = true
		b.active.add(&t.tenant)
		b.readUsage(&t.tenant)
	case !active && t.active:
		t.active = false
		b.active.leave(&t.tenant)
	}
}

// readUsage reads the usage of one account. A rise of the usage is a new run; a fall
// ends the oldest runs.
func (b *ByService[K]) readUsage(one *tenant[K]) {
	held, err := b.usage(one.account)
	if err != nil {
		held = resources.Vector{}
	}
	if held == one.held {
		return
	}
	t := b.known[one.account]
	var more, less resources.Vector
	for k := range held {
		more[k], less[k] = max(0, held[k]-one.held[k]), max(0, one.held[k]-held[k])
	}
	one.held = held
	b.end(t, less) // of the oldest runs first
	if more != (resources.Vector{}) {
		run := new(drf.Run)
		if n := len(b.spare); n > 0 {
			run, b.spare = b.spare[n-1], b.spare[:n-1]
		}
		run.Need = more
		must(b.queue.Start(t.user, run, b.now))
		t.runs = append(t.runs, run)
	}
	if t.active != (t.waits || held != (resources.Vector{})) {
		b.changed = append(b.changed, t)
	}
}

// end takes an amount off the runs of a tenant, the oldest first.
func (b *ByService[K]) end(t *served[K], less resources.Vector) {
	for i := t.ended; less != (resources.Vector{}); i++ {
		run, rest := t.runs[i], t.runs[i].Need
		for k := range rest {
			off := min(rest[k], less[k])
			rest[k], less[k] = rest[k]-off, less[k]-off
		}
		switch {
		case rest == (resources.Vector{}):
			must(b.queue.End(run, b.now))
			b.spare = append(b.spare, run)
			t.runs[i], t.runs[t.ended] = t.runs[t.ended], nil
			t.ended++
		case rest != run.Need:
			must(b.queue.Resize(run, rest, b.now))
		}
	}
	if t.ended > len(t.runs)/2 { // so that a move costs O(1) for each run that ended
		t.runs = slices.Delete(t.runs, 0, t.ended)
		t.ended = 0
	}
}

// tenant returns the tenant of an account, and makes it on first use.
func (b *ByService[K]) tenant(a omega.Account) *served[K] {
	t := b.known[a]
	if t == nil {
		u, err := b.queue.Add(drf.User{}, 1)
		must(err)
		t = &served[K]{tenant: tenant[K]{account: a, user: u}}
		b.known[a], b.byUser[u] = t, t
	}
	return t
}

// made reports whether b is made by [NewByService].
func (b *ByService[K]) made() bool { return b != nil && b.queue != nil }
