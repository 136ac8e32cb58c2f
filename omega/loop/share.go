package loop

import (
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// ByShare is an [Order] by dominant resource fairness over accounts: the next job is
// one of the account with the least weighted dominant share.
//
// Shares are of all that an account holds in the cell, whichever scheduler placed it, so
// that releases need no call and parallel loops go by the same facts. A step reads them
// for 64 of the accounts that have jobs in the order, and for the one served last. Of n
// accounts, more than 64, each is read within n/64 steps. Of equal shares, the account is
// next that had its turn longest ago, or came to the order first. The jobs of one account
// go by precedence and then by arrival. All tasks of a job are one turn, so shares are as
// even as jobs are small.
//
// ByShare keeps no room for a job that fits nowhere, for which there is [Config.Patience]: the
// next job has its turn. It suits
// allocations that are long beside the waits; where more accounts wait than there is
// room for, most shares are zero and weights have no effect.
//
// Orders are made by [NewByShare]; [New] refuses a nil or zero ByShare. A ByShare belongs
// to the steps of its loop: the setters are for before the loop and for its callbacks.
// Cost: O(log n) for n accounts with jobs in the order, and once a step the reads. A.
// Ghodsi et al., NSDI 2011.
type ByShare[K any] struct {
	usage   func(omega.Account) (resources.Vector, error)
	heap    *drf.Heap[*tenant[K]]
	known   map[omega.Account]*tenant[K]
	waiting ring[K] // tenants with jobs in the order
}

// NewByShare returns an order over accounts that share a total, in base units. Usage
// returns the holdings of an account: it is [omega.Cell.Usage] of the cell. If usage
// returns an error, the account counts as empty.
//
//	order, err := loop.NewByShare[string](total, cell.Usage)
//
// Errors: [resources.ErrNil] for no usage, [resources.ErrQuantity] and [drf.ErrEmpty]
// about the total.
func NewByShare[K any](
	total resources.Vector, usage func(omega.Account) (resources.Vector, error),
) (*ByShare[K], error) {
	if usage == nil {
		return nil, absent("usage")
	}
	heap, err := drf.New[*tenant[K]](total)
	if err != nil {
		return nil, fault.New("loop", "order by share", err)
	}
	return &ByShare[K]{usage: usage, heap: heap, known: map[omega.Account]*tenant[K]{}}, nil
}

// SetWeight changes the weight of an account, which is 1 before. Errors:
// [drf.ErrWeight], [resources.ErrNil].
func (b *ByShare[K]) SetWeight(a omega.Account, weight float64) error {
	if !b.made() {
		return absent("receiver")
	}
	if err := b.heap.SetWeight(b.tenant(a).user, weight); err != nil {
		return fault.Newf("loop", err, "weight of account %d", a)
	}
	return nil
}

// SetTotal changes the total that the accounts share, in base units. Errors: see
// [NewByShare].
func (b *ByShare[K]) SetTotal(total resources.Vector) error {
	if !b.made() {
		return absent("receiver")
	}
	if err := b.heap.SetTotal(total); err != nil {
		return fault.New("loop", "order by share", err)
	}
	return nil
}

// Push brings in a job.
func (b *ByShare[K]) Push(p *Pending[K]) {
	if !b.made() {
		return
	}
	t := b.tenant(p.job.Account)
	if len(t.jobs.jobs) == 0 {
		// The amount of the demand has no meaning: the loop finds out whether a job
		// fits.
		must(b.heap.Demand(t.user, resources.Vector{1}))
		b.waiting.add(t)
		b.readUsage(t)
	}
	t.jobs.Push(p)
}

// Next takes out the first job of the account with the least share.
func (b *ByShare[K]) Next() *Pending[K] {
	if !b.made() {
		return nil
	}
	b.waiting.read(b.readUsage)
	u, ok := b.heap.Pick(resources.Vector{1})
	if !ok {
		return nil
	}
	t, _ := b.heap.Key(u)
	must(b.heap.Yield(u))
	p := t.jobs.Next()
	if len(t.jobs.jobs) == 0 {
		must(b.heap.Park(u))
		b.waiting.leave(t)
	}
	b.waiting.served = t
	return p
}

// Advance begins a step: see [Order].
func (b *ByShare[K]) Advance(time.Time) {
	if b.made() {
		b.waiting.fresh = false
	}
}

// readUsage reads the usage of one account.
func (b *ByShare[K]) readUsage(t *tenant[K]) {
	held, err := b.usage(t.account)
	if err != nil {
		held = resources.Vector{}
	}
	if held != t.held {
		must(b.heap.Credit(t.user, t.held))
		must(b.heap.Charge(t.user, held))
		t.held = held
	}
}

// tenant returns the tenant of an account, and makes it on first use.
func (b *ByShare[K]) tenant(a omega.Account) *tenant[K] {
	t := b.known[a]
	if t == nil {
		t = &tenant[K]{account: a}
		var err error
		t.user, err = b.heap.Add(t, 1)
		must(err)
		b.known[a] = t
	}
	return t
}

// made reports whether b is made by [NewByShare].
func (b *ByShare[K]) made() bool { return b != nil && b.heap != nil }
