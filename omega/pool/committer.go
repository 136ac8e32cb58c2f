package pool

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// commitLoop is the committer: it alone commits to the cell, until the pool is closed.
func (p *Pool) commitLoop() {
	l := p.lend
	defer l.ending.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	for failures := 0; ; {
		over, err := p.commitOnce(context.Background())
		if over {
			break
		}
		if err == nil {
			failures = 0
			continue
		}
		if l.lost != nil {
			p.abandon()
			break
		}
		failures++
		l.outside(func() { blocks.Pause(failures) })
	}
	l.over = true
	p.answer(math.MaxUint64)
	l.stop()
	p.mu.Unlock()
	l.heard.Wait()
	p.mu.Lock()
	if p.draining {
		p.ended()
	}
}

// outside calls fn without the pool's mutex: it may take long.
func (l *lender) outside(fn func()) {
	l.away = max(1, l.pool.at)
	l.pool.mu.Unlock()
	fn()
	l.pool.mu.Lock()
	l.away = 0
	l.pool.tick()
}

// commitOnce looks at the cell, commits what it lacks or has in excess, and waits for work
// if that is nothing. It reports whether the pool is closed and has given all back. Errors:
// those of the store. Called with the pool's mutex held, which it lets go while it commits
// and waits.
func (p *Pool) commitOnce(ctx context.Context) (over bool, err error) {
	l := p.lend
	l.again = false
	l.round++
	p.nameAccounts()
	var wanted bool
	var changed []locality.Node
	var asked map[locality.Node]resources.Vector
	l.outside(func() {
		wanted = l.scheduler.Wanted()
		changed, err = l.blocks.Sync(ctx, time.Now())
		asked = l.blocks.Asked()
	})
	if err != nil {
		return false, err
	}
	p.absorb(changed)
	p.yield(asked)
	if wanted != l.wanted {
		if l.wanted = wanted; wanted {
			p.markStock()
		}
	}
	l.short = l.short && p.waiting > 0
	orders, stopped, grows := p.orders()
	if len(orders)+len(stopped) > 0 {
		granted := p.grants
		l.outside(func() {
			for _, node := range stopped {
				l.blocks.Acknowledge(node)
			}
			err = l.blocks.Commit(ctx, orders)
		})
		p.ordered(orders)
		switch {
		case p.grants != granted:
			l.vain = 0
		case grows && err == nil:
			l.vain++
		}
		return false, err
	}
	if begin, end := p.keeps(time.Now()); len(begin)+len(end) > 0 {
		l.outside(func() { err = l.reserveInCell(ctx, begin, end) })
		l.vain = 0 // room that is reserved is none that the committer could wait for
		return false, err
	}
	if p.waiting > 0 && !l.short {
		l.short = true
		p.markStock()
		return false, nil
	}
	p.answer(l.round)
	l.settled = !l.again
	if l.settled && len(p.guaranteed) > 0 && p.waiting > 0 {
		p.next()
	}
	if l.closing && !p.borrows() {
		return true, nil
	}
	if !l.again {
		err = p.rest()
	}
	return false, err
}

// mostVain is how many rounds in a row blocks grow without a lease that is granted,
// before something has to change.
const mostVain = 3

// rest has the committer wait until there is work: for room in the cell, while requests
// wait, and for what concerns the pool otherwise. Errors: that the pool's scheduler is no
// longer its own.
func (p *Pool) rest() (err error) {
	l := p.lend
	ctx, wake := context.WithCancel(context.Background())
	defer wake()
	l.sleeping, l.needs = wake, p.leastNeeds()
	needs, ready := l.needs, l.blocks.NextReady()
	if wait, some := p.untilPatient(); some {
		defer time.AfterFunc(wait, p.lookAgain).Stop()
	}
	p.mu.Unlock()
	if !ready.IsZero() {
		defer time.AfterFunc(time.Until(ready), wake).Stop()
	}
	if len(needs) == 0 {
		l.blocks.Pass()
	} else {
		err = l.blocks.Wait(ctx, needs)
	}
	if !blocks.Lost(err) {
		if err != nil || len(needs) == 0 {
			<-ctx.Done() // no machine could have room, or no request waits
		}
		err = nil
	}
	p.mu.Lock()
	l.sleeping, l.needs, l.vain = nil, nil, 0
	return cmp.Or(err, l.lost)
}

// lookAgain serves requests by what their patience allows by now.
func (p *Pool) lookAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	p.next()
	p.lend.kick()
}

// leastNeeds returns needs of requests that wait. Each other request needs as much as one
// of them. Cost: O(tenants), and O(waiters) of tenants with requests that differ in the
// kinds that they need.
func (p *Pool) leastNeeds() (least []resources.Vector) {
	add := func(need *resources.Vector) {
		if fitsAnyIn(least, need) {
			return
		}
		least = slices.DeleteFunc(least, func(v resources.Vector) bool { return resources.Fits(need, &v) })
		least = append(least, *need)
	}
	if p.waiting == 0 {
		return nil
	}
	for _, list := range [...][]*waiter{p.reserves, p.promised} {
		for _, w := range list { // a part is kept for it already
			for i, node := range w.kept.nodes {
				short := *w.needAt(i)
				for k, have := range p.books.machines[node].unasked() {
					short[k] = max(0, short[k]-have)
				}
				if short != (resources.Vector{}) {
					add(&short)
				}
			}
		}
	}
	for t := range p.all() {
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

// count returns how many needs w has.
func (w *waiter) count() int {
	if w.many() != nil {
		return len(w.many().needs)
	}
	return 1
}

// markStock has all machines looked at that hold more than their leases use.
func (p *Pool) markStock() {
	for node := range p.books.machines {
		if m := &p.books.machines[node]; m.lent.total != m.held || m.lent.marked {
			p.lend.mark(locality.Node(node))
		}
	}
}

// borrows reports whether the pool has blocks in the cell.
func (p *Pool) borrows() bool {
	return slices.ContainsFunc(p.books.machines, func(m machine) bool {
		return m.lent.total != (resources.Vector{}) || m.lent.marked
	})
}

// orders returns what the blocks of machines are to become, the machines where all that
// was preempted has stopped, and whether some block grows. Stock that goes is out of the
// books from then on.
func (p *Pool) orders() (list []blocks.Order, stopped []locality.Node, grows bool) {
	l := p.lend
	wishes := p.wishes()
	for node := range wishes {
		l.mark(node)
	}
	if l.closing {
		p.markStock()
	}
	dirty := l.dirty
	l.dirty = nil
	for _, node := range dirty {
		m := &p.books.machines[node]
		m.lent.dirty = false
		if m.lent.marked && resources.Fits(&m.held, &m.block) {
			stopped, m.lent.marked = append(stopped, node), false
		}
		want, total, changed := p.target(m, wishes[node])
		if !changed {
			continue
		}
		order := blocks.Order{Node: node, Want: want}
		if w := wishes[node]; w != nil {
			order.Reservation = w.reservation
		}
		list = append(list, order)
		grows = grows || wishes[node] != nil
		for k := range m.block {
			m.block[k] = min(m.block[k], max(total[k], m.held[k]))
		}
		p.books.settle(int(node))
	}
	return list, stopped, grows
}

// ordered applies what became of some orders.
func (p *Pool) ordered(orders []blocks.Order) {
	for i := range orders {
		node := orders[i].Node
		p.adopt(node)
		if p.victimIndex != nil {
			p.victimIndex.mark(int(node))
		}
	}
	p.epoch += 2 // requests that wait for their data look again
	p.dispatch()
	p.answer(0)
	for i := range orders {
		p.lend.review(int(orders[i].Node)) // they may have left some
	}
	p.launch()
}

// adopt notes the blocks of a machine as they are now.
func (p *Pool) adopt(node locality.Node) {
	l, m := p.lend, &p.books.machines[node]
	from := l.blocks.At(node)
	lt := m.lent
	lt.free, lt.total, lt.marked = from.Free, from.Total(), from.Marked()
	for i := range lt.parts {
		lt.parts[i].size = resources.Vector{}
	}
	for _, b := range from.Blocks() {
		part := lt.part(l.number(b.Charge))
		part.size = part.size.Add(b.Size)
	}
	lt.parts = slices.DeleteFunc(lt.parts, func(one portion) bool { return one.used == one.size && one.size == (resources.Vector{}) })
	if was := m.block; !resources.Fits(&was, &from.Usable) { // a claim has taken a part
		m.block = from.Usable
		p.unreserveOn(node)
		p.victimIndex = nil
	}
	m.block = from.Usable
	m.shrunk = m.shrunk || !resources.Fits(&m.held, &m.block)
	p.books.settle(int(node))
}

// abandon ends the work of a pool that has lost its scheduler: its leases are the
// allocations of the successor.
func (p *Pool) abandon() {
	p.lend.closing = true
	p.endContexts()
	p.shut()
}
