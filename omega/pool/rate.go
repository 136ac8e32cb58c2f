package pool

import "time"

// maxRate is the largest rate of a tenant: one start a nanosecond.
const maxRate = 1e9

// maxPause is when a bucket without a token is looked at again at the latest.
const maxPause = 24 * time.Hour

// bucket is a token bucket: it fills with the rate, up to the burst, and each
// start takes one token.
//
// A second count is of tokens that are not promised: a request takes one when a
// guarantee has room taken back for it, any other when it starts. It fills alike. So
// preemption keeps to the rate, and a holder that is late holds up no other request.
type bucket struct {
	rate, burst float64
	tokens      float64
	free        float64       // not promised
	at          time.Duration // when both were right
	timer       *time.Timer   // fires when there is a token for a waiter,
	due         time.Duration // which is then, unless it is over
	out         bool          // of the order, until there is a token
}

// set changes the rate. Tokens that are there stay, up to the burst; a new bucket
// is full. With another rate, each of so many promises needs a token that is there.
func (b *bucket) set(rate float64, burst, promises int, now time.Duration) {
	fresh, most := b.rate == 0, float64(max(burst, 1))
	changed := rate != b.rate || most != b.burst
	b.fill(now)
	b.rate, b.burst = rate, most
	if b.at = now; fresh || b.tokens > b.burst {
		b.tokens = b.burst
	}
	if changed {
		b.free = b.tokens - float64(promises)
	}
}

// fill adds the tokens of the time that has passed.
func (b *bucket) fill(now time.Duration) {
	if passed := now - b.at; passed > 0 {
		more := b.rate * float64(passed) / float64(time.Second)
		b.tokens, b.free = min(b.burst, b.tokens+more), min(b.burst, b.free+more)
		b.at = now
	}
}

// wait returns how long it is until there is a token that is not promised, 0 if there
// is one.
func (b *bucket) wait(now time.Duration) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.fill(now)
	return b.until(min(b.tokens, b.free))
}

// until returns how long it is until a count of tokens is 1.
func (b *bucket) until(tokens float64) time.Duration {
	if tokens >= 1 {
		return 0
	}
	seconds := min((1-tokens)/b.rate, maxPause.Seconds()) // more may be no Duration
	return max(1, time.Duration(seconds*float64(time.Second))+1)
}

// next returns how long it is until one more of the counts is 1, 0 if both are: then
// a promise may be made, or one may be kept.
func (b *bucket) next() time.Duration {
	a, c := b.until(b.tokens), b.until(b.free)
	if a == 0 || c == 0 {
		return max(a, c)
	}
	return min(a, c)
}

// untilPayable returns how long it is until one more promise may be made, as
// [Tenant.payable] says; 0 if it may, or if that takes the end of another promise.
func (b *bucket) untilPayable(promises int, grace time.Duration) time.Duration {
	there := float64(promises) - b.rate*grace.Seconds()
	if b.rate == 0 || b.burst < there+1 {
		return 0
	}
	return b.until(b.tokens - there)
}

// throttled returns how long it is until t and its groups have a token each, 0 if
// they have. Called with the pool's mutex held, after a tick.
func (t *Tenant) throttled() (wait time.Duration) {
	for g := t; g != nil; g = g.parent {
		wait = max(wait, g.bucket.wait(t.pool.at))
	}
	return wait
}

// spend takes a token of t and its groups. A granted request of several needs is
// one start.
func (t *Tenant) spend() {
	t.pay(1)
}

// spend takes the tokens for w to start. One that was owed room has taken those that
// are not promised.
func (w *waiter) spend() {
	if w.isPromised() {
		w.kept.spent = true
		w.tenant.pay(0)
		return
	}
	w.tenant.pay(1)
}

// pay takes a token of t and its groups for a start, and so much of what is not
// promised.
func (t *Tenant) pay(free float64) {
	for g := t; g != nil; g = g.parent {
		if b := &g.bucket; b.rate > 0 {
			b.fill(t.pool.at)
			b.tokens, b.free = b.tokens-1, b.free-free
		}
	}
	if t.pool.waits.waiting > 0 {
		t.throttle()
	}
}

// unpaid reports whether t or a group has no token for a request that is owed room.
func (t *Tenant) unpaid() bool {
	for g := t; g != nil; g = g.parent {
		if b := &g.bucket; b.rate > 0 {
			if b.fill(t.pool.at); b.tokens < 1 {
				return true
			}
		}
	}
	return false
}

// payable reports whether t and its groups have a token each to promise, and one for
// each promise before the grace is over.
func (t *Tenant) payable() bool {
	for g := t; g != nil; g = g.parent {
		b := &g.bucket
		if b.rate == 0 {
			continue
		}
		b.fill(t.pool.at)
		if b.free < 1 || b.tokens+b.rate*t.pool.graces.span.Seconds() < float64(g.promises+1) {
			return false
		}
	}
	return true
}

// throttle does [Tenant.refill] for t and its groups. It reports whether one of them
// came back into the order, which then decides about the token.
func (t *Tenant) throttle() (back bool) {
	for g := t; g != nil; g = g.parent {
		if g.bucket.rate > 0 && g.refill() {
			back = true
		}
	}
	return back
}

// refill takes t out of the order if its bucket has no token, and puts it back if it
// has one again, which it reports. Called with the pool's mutex held, after a tick.
//
// Invariant: where a request waits below a bucket that has no token, the bucket's
// tenant is out of the order and has a timer.
func (t *Tenant) refill() (back bool) {
	p, b := t.pool, &t.bucket
	wait := b.wait(p.at)
	if out := wait > 0; out != b.out {
		b.out, back = out, !out
		_ = p.tenants.fair.Throttle(t.user, out, p.at)
	}
	switch {
	case wait > 0:
		wait = b.next()
	case t.promises > 0:
		wait = b.untilPayable(t.promises, p.graces.span)
	}
	if due := p.at + wait; wait > 0 && (b.due <= p.at || due < b.due) {
		b.due = due
		t.resume(wait)
	}
	return back
}

// resume sets the timer of the bucket: one for all requests below it.
func (t *Tenant) resume(wait time.Duration) {
	setTimer(&t.bucket.timer, wait, func() {
		p := t.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tick()
		if t.bucket.due = 0; t.refill() || t.promises > 0 {
			p.next() // a promise may be kept, or another one made
		}
	})
}
