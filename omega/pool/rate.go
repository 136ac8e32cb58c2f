package pool

import "time"

// maxRate is the largest rate of a tenant: one start a nanosecond.
const maxRate = 1e9

// maxPause is when a bucket without a token is looked at again at the latest.
const maxPause = 24 * time.Hour

// bucket is a token bucket: it fills with the rate, up to the burst, and each
// start takes one token.
type bucket struct {
	rate, burst float64
	tokens      float64
	at          time.Duration // when tokens was right
	timer       *time.Timer   // fires when there is a token for a waiter,
	due         time.Duration // which is then, unless it is over
	out         bool          // of the order, until there is a token
}

// set changes the rate. Tokens that are there stay, up to the burst; a new bucket
// is full.
func (b *bucket) set(rate float64, burst int, now time.Duration) {
	fresh := b.rate == 0
	b.fill(now)
	b.rate, b.burst = rate, float64(max(burst, 1))
	if b.at = now; fresh || b.tokens > b.burst {
		b.tokens = b.burst
	}
}

// fill adds the tokens of the time that has passed.
func (b *bucket) fill(now time.Duration) {
	if passed := now - b.at; passed > 0 {
		b.tokens = min(b.burst, b.tokens+b.rate*float64(passed)/float64(time.Second))
		b.at = now
	}
}

// wait returns how long it is until there is a token, 0 if there is one.
func (b *bucket) wait(now time.Duration) time.Duration {
	if b.rate == 0 {
		return 0
	}
	if b.fill(now); b.tokens >= 1 {
		return 0
	}
	seconds := min((1-b.tokens)/b.rate, maxPause.Seconds()) // more may be no Duration
	return max(1, time.Duration(seconds*float64(time.Second))+1)
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
	for g := t; g != nil; g = g.parent {
		if g.bucket.rate > 0 {
			g.bucket.fill(t.pool.at)
			g.bucket.tokens--
		}
	}
	if t.pool.waiting > 0 {
		t.throttle()
	}
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
		_ = p.fair.Throttle(t.user, out, p.at)
	}
	if due := p.at + wait; wait > 0 && (b.due <= p.at || due < b.due) {
		b.due = due
		t.resume(wait)
	}
	return back
}

// resume sets the timer of the bucket: one for all requests below it.
func (t *Tenant) resume(wait time.Duration) {
	b := &t.bucket
	if b.timer != nil {
		b.timer.Reset(wait)
		return
	}
	b.timer = time.AfterFunc(wait, func() {
		p := t.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tick()
		if b.due = 0; t.refill() {
			p.dispatch()
			p.launch()
		}
	})
}
