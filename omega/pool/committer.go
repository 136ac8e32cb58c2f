package pool

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// committer is the one goroutine of a pool on a cell that commits there, and the books
// that it has to itself. It plans blocks for the requests that wait: see [lender].
type committer struct {
	*core
	search    *victimSearch
	promises  *promiseBook
	reserving *reservations
	graces    *graces
	serving   *dispatcher
	crew      *crew
	placement *placement
	life      *lifecycle
	retotal   func(was *resources.Vector) // tells all of another capacity
	tryNow    func(t *Tenant, need *resources.Vector) (Lease, bool)

	blocks *blocks.Blocks
	tries  []*attempt
	round  uint64                             // how often the committer has begun to look
	kept   []keptInCell                       // the committer alone uses it, and
	unkept []omega.ReservationID              // reservations to end
	yields map[locality.Node]resources.Vector // by reservations of other schedulers
	lost   error                              // its scheduler was replaced, or the journal of the cell has failed
	away   time.Duration                      // since when the committer is out for the cell or the store, 0 for not
	stop   context.CancelFunc                 // ends listen
	heard  sync.WaitGroup
	ending sync.WaitGroup
}

// begin starts the goroutines of a pool on a cell.
func (cm *committer) begin() {
	ctx, stop := context.WithCancel(context.Background())
	cm.stop = stop
	cm.heard.Add(1)
	go cm.listen(ctx)
	cm.mu.Lock()
	cm.markStock() // allocations of a predecessor
	cm.mu.Unlock()
	cm.ending.Add(1)
	go cm.commitLoop()
}

// listen wakes the committer when something in the cell concerns the pool. It ends when the
// committer does.
func (cm *committer) listen(ctx context.Context) {
	defer cm.heard.Done()
	for {
		err := cm.lend.scheduler.WaitNews(ctx)
		cm.mu.Lock()
		cm.lend.fruitless = 0
		if err != nil {
			if !cm.lend.over {
				cm.lost = err
			}
			cm.lend.kick()
			cm.mu.Unlock()
			return
		}
		cm.lend.kick()
		cm.mu.Unlock()
	}
}

// commitLoop is the committer: it alone commits to the cell, until the pool is closed.
func (cm *committer) commitLoop() {
	l := cm.lend
	defer cm.ending.Done()
	cm.mu.Lock()
	defer cm.mu.Unlock()
	for failures := 0; ; {
		over, err := cm.commitOnce(context.Background())
		if over {
			break
		}
		if err == nil {
			failures = 0
			continue
		}
		if blocks.Lost(err) {
			cm.lost = cmp.Or(cm.lost, err) // listen hears of a successor, but not of a journal
		}
		if cm.lost != nil {
			cm.abandon()
			break
		}
		failures++
		cm.outside(func() { blocks.Pause(failures) })
	}
	l.over = true
	cm.answer(math.MaxUint64)
	cm.stop()
	owned := cm.lost == nil // the replicas may still disown it
	cm.mu.Unlock()
	cm.heard.Wait()
	if cm.replicas != nil {
		cm.replicas.end(owned)
	}
	cm.mu.Lock()
	if cm.draining {
		cm.ended()
	}
}

// outside calls fn without the pool's mutex: it may take long.
func (cm *committer) outside(fn func()) {
	cm.away = max(1, cm.at)
	cm.mu.Unlock()
	fn()
	cm.mu.Lock()
	cm.away = 0
	cm.tick()
}

// commitOnce looks at the cell, commits what it lacks or has in excess, and waits for work
// if that is nothing. It reports whether the pool is closed and has given all back. Errors:
// those of the store. Called with the pool's mutex held, which it lets go while it commits
// and waits.
func (cm *committer) commitOnce(ctx context.Context) (over bool, err error) {
	l := cm.lend
	l.again = false
	cm.round++
	if err := cm.nameAccounts(ctx); err != nil {
		return false, err
	}
	var wanted bool
	var changed []locality.Node
	var asked map[locality.Node]resources.Vector
	cm.outside(func() {
		wanted = l.scheduler.Wanted()
		changed, err = cm.blocks.Sync(ctx, time.Now())
		asked = cm.blocks.Asked()
	})
	if err != nil {
		return false, err
	}
	wanted = wanted || cm.replicas.contended()
	cm.absorb(changed)
	cm.yield(asked)
	if wanted != l.wanted {
		if l.wanted = wanted; wanted {
			cm.markStock()
		}
	}
	l.short = l.short && cm.waits.waiting > 0
	orders, stopped, grows := cm.orders()
	if len(orders)+len(stopped) > 0 {
		granted := cm.leases.grants
		cm.outside(func() {
			for _, node := range stopped {
				err = errors.Join(err, cm.blocks.Acknowledge(node))
			}
			err = errors.Join(err, cm.blocks.Commit(ctx, orders))
		})
		cm.ordered(orders)
		if err != nil {
			for i := range orders {
				l.mark(orders[i].Node) // the next round commits it
			}
		}
		switch {
		case cm.leases.grants != granted:
			l.fruitless = 0
		case grows && err == nil:
			l.fruitless++
		}
		return false, err
	}
	if begin, end := cm.keeps(time.Now()); len(begin)+len(end) > 0 {
		cm.outside(func() { err = cm.reserveInCell(ctx, begin, end) })
		l.fruitless = 0 // room that is reserved is none that the committer could wait for
		return false, err
	}
	if cm.waits.waiting > 0 && !l.short {
		l.short = true
		cm.markStock()
		return false, nil
	}
	cm.answer(cm.round)
	if l.settled = !l.again; l.settled && cm.replicas != nil {
		cm.replicas.settled()
	}
	if l.settled && len(cm.tenants.guaranteed) > 0 && cm.waits.waiting > 0 {
		cm.next()
	}
	if l.closing && !cm.borrows() {
		return true, nil
	}
	if !l.again {
		err = cm.rest()
	}
	return false, err
}

// maxFruitless is how many rounds in a row blocks grow without a lease that is granted,
// before something has to change.
const maxFruitless = 3

// rest has the committer wait until there is work: for room in the cell, while requests
// wait, and for what concerns the pool otherwise. Errors: that the pool's scheduler is no
// longer its own.
func (cm *committer) rest() (err error) {
	l := cm.lend
	ctx, wake := context.WithCancel(context.Background())
	defer wake()
	l.sleeping, l.needs = wake, cm.leastNeeds()
	needs := l.needs
	if wait, some := cm.reserving.untilPatient(); some {
		defer time.AfterFunc(wait, cm.lookAgain).Stop()
	}
	cm.mu.Unlock()
	for _, at := range [...]time.Time{cm.blocks.NextReady(), cm.nextOver()} {
		if !at.IsZero() {
			defer time.AfterFunc(time.Until(at), wake).Stop()
		}
	}
	if len(needs) == 0 {
		cm.blocks.Pass()
	} else {
		err = cm.blocks.Wait(ctx, needs)
	}
	if !blocks.Lost(err) {
		if err != nil || len(needs) == 0 {
			<-ctx.Done() // no machine could have room, or no request waits
		}
		err = nil
	}
	cm.mu.Lock()
	l.sleeping, l.needs, l.fruitless = nil, nil, 0
	return cmp.Or(err, cm.lost)
}

// lookAgain serves the requests that their patience allows to place by now.
func (cm *committer) lookAgain() {
	cm.mu.Lock()
	defer cm.mu.Unlock()
	cm.tick()
	cm.next()
	cm.lend.kick()
}

// leastNeeds returns needs of requests that wait. Each other request needs as much as one
// of them. Cost: O(tenants), and O(waiters) of tenants with requests that differ in the
// kinds that they need.
func (cm *committer) leastNeeds() (least []resources.Vector) {
	add := func(need *resources.Vector) {
		if fitsAnyIn(least, need) {
			return
		}
		least = slices.DeleteFunc(least, func(v resources.Vector) bool { return resources.Fits(need, &v) })
		least = append(least, *need)
	}
	if cm.waits.waiting == 0 {
		return nil
	}
	for _, list := range [...][]*waiter{cm.reserving.list, cm.promises.list} {
		for _, w := range list { // a part is kept for it already
			for i, node := range w.kept.nodes {
				short := *w.needAt(i)
				for k, have := range cm.books.machines[node].unasked() {
					short[k] = max(0, short[k]-have)
				}
				if short != (resources.Vector{}) {
					add(&short)
				}
			}
		}
	}
	for t := range cm.tenants.all() {
		if t.first == nil {
			continue
		}
		if t.least != (resources.Vector{}) {
			add(&t.least)
			continue
		}
		for w := t.first; w != nil; w = w.next {
			for i := range w.count() {
				add(w.needAt(i))
			}
		}
	}
	return least
}

// nameAccounts has the cell make an account for each tenant that has none. What a tenant
// has got since is charged there, too. A tenant whose name is too long is charged to the pool's
// account. After another error, that of a journal, the tenants that are left are named later.
func (cm *committer) nameAccounts(ctx context.Context) (err error) {
	l := cm.lend
	list := l.unnamed
	if len(list) == 0 {
		return nil
	}
	accounts := make([]omega.Account, 0, len(list))
	cm.outside(func() {
		for _, t := range list {
			var a omega.Account
			if a, err = l.scheduler.Cell().Account(ctx, t.name); errors.Is(err, omega.ErrName) {
				a, err = l.account, nil
			}
			if err != nil {
				return
			}
			accounts = append(accounts, a)
		}
	})
	defer func() { l.unnamed = slices.Delete(l.unnamed, 0, len(accounts)) }() // tenants added meanwhile stay
	list = list[:len(accounts)]
	for i, t := range list {
		t.named, t.account = true, accounts[i]
	}
	for _, r := range cm.leases.all() {
		if r.detached || !slices.Contains(list, r.tenant) {
			continue
		}
		l.gave(r, &r.run.Need)
		l.took(r.tenant, r)
		l.mark(locality.Node(r.node))
	}
	return err
}

// abandon ends the work of a pool that has lost its scheduler, or the journal of its cell. Its
// leases are the allocations of a successor, or of the next program that opens the journal.
func (cm *committer) abandon() {
	cm.lend.closing = true
	cm.leases.endContexts()
	cm.life.shut()
}

// tryFor is how long a TryAcquire waits for the committer: many times as long as a commit
// to the cell takes. A commit to a store may take longer; its room then serves a later
// call.
const tryFor = time.Millisecond

// attempt is a TryAcquire that waits for the committer.
type attempt struct {
	tenant *Tenant
	need   resources.Vector
	round  uint64 // of the committer when it was made
	lease  Lease
	ok     bool
	done   chan struct{}
}

// try has the committer look for room in the cell, at once, and waits for that, but not for
// long. Called with the pool's mutex held, which it lets go meanwhile.
func (cm *committer) try(t *Tenant, need *resources.Vector) (Lease, bool) {
	if cm.lend.over || cm.lend.closing || t.queued > 0 || t.heldBack(need) || cm.replicas.yields(t, need) {
		return Lease{}, false
	}
	if cm.tick(); cm.away > 0 && cm.at-cm.away > tryFor {
		return Lease{}, false
	}
	a := &attempt{tenant: t, need: *need, round: cm.round, done: make(chan struct{})}
	cm.tries, cm.lend.fruitless = append(cm.tries, a), 0
	cm.lend.kick()
	cm.mu.Unlock()
	late := time.NewTimer(tryFor)
	select {
	case <-a.done:
	case <-late.C:
	}
	late.Stop()
	cm.mu.Lock()
	cm.tries = slices.DeleteFunc(cm.tries, func(other *attempt) bool { return other == a })
	return a.lease, a.ok
}

// answer serves each TryAcquire that waits and has room now. It tells those made before a
// round that they get nothing. The committer may have looked at the cell before a later one.
func (cm *committer) answer(before uint64) {
	cm.tries = slices.DeleteFunc(cm.tries, func(a *attempt) bool {
		a.lease, a.ok = cm.tryNow(a.tenant, &a.need)
		over := a.ok || a.round < before
		if over {
			close(a.done)
		}
		return over
	})
}
