package journal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// shortestTTL is the shortest TTL of a session.
const shortestTTL = 100 * time.Millisecond

// tending is the state by which a process keeps its session, and ends those of others. It is not
// the same in all copies: times are of the clock here. The Cell's mutex guards it.
type tending struct {
	stir      chan struct{}             // of capacity 1: there may be something to do
	risen     [latest + 1]chan struct{} // closed once the journal has that version
	seen      map[Position]time.Time    // when the last entry of each session was applied
	proposed  map[Position]uint64       // the last numbers with which their ends were proposed
	wrote     time.Time                 // when the last entry was made
	heard     time.Time                 // when an entry of this session was applied last,
	since     time.Time                 // and since when that was never longer ago than it should be
	switching bool                      // entries are written in the latest version
	told      byte                      // the version in which the TTL was sent last, 0 for none
	holds     bool                      // this session may have schedulers that end with it
	reaping   bool                      // a goroutine runs reap
	asked     bool                      // all that expired sessions hold may be released
	spent     []spending                // room released unasked
}

// spending is a part of the cell that was released.
type spending struct {
	at    time.Time
	share float64
}

func newTending() tending {
	t := tending{stir: make(chan struct{}, 1), seen: make(map[Position]time.Time), proposed: make(map[Position]uint64)}
	for v := range t.risen {
		t.risen[v] = make(chan struct{})
	}
	return t
}

// tends reports whether this process' session can expire.
func (c *Cell) tends() bool { return c.cfg.TTL > 0 }

// writes returns the version of the entries that this process writes. Called with mu held.
func (c *Cell) writes() byte {
	if c.tending.switching {
		return latest
	}
	return c.state.version
}

// keeps makes e the first of the queue if that is a keeping, and returns 1 then. Called with
// mu held.
func (c *Cell) keeps(e *entry) int {
	c.tending.wrote = time.Now()
	if len(c.queue) == 0 || c.queue[0].keeps.action == 0 {
		return 0
	}
	if k := c.queue[0].keeps; e.version == oldest {
		e.announce(time.Duration(k.args[0])) // others are not sent in that version
	} else {
		e.kind, e.body = keepEntry, k.encode(nil)
	}
	return 1
}

// ends makes e the end of this session. Called with mu held.
func (c *Cell) ends(e *entry) {
	if e.kind = endEntry; e.version > oldest && !c.tending.holds {
		e.body = []byte{1}
	}
}

// raise notes the version of an entry.
func (c *Cell) raise(version byte) {
	if version <= c.state.version {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tending.rise(c.state.version, version)
	c.state.raise(version)
	signal(c.tending.stir) // all tell their TTLs
}

// rise tells those that wait for versions above one, up to another one.
func (t *tending) rise(from, to byte) {
	for v := from + 1; v <= to; v++ {
		close(t.risen[v])
	}
}

// reaches waits until the journal has a version.
func (c *Cell) reaches(ctx context.Context, version byte) error {
	select {
	case <-c.tending.risen[version]:
		return nil
	case <-c.life.Done():
		return c.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hear notes the next entry of a session.
func (c *Cell) hear(e *entry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, t := c.state.sessions[e.session], &c.tending
	one.number = e.number
	knows, ttl, told := e.announced()
	if told {
		one.knows, one.ttl = knows, ttl
	}
	if c.state.sessions[e.session] = one; !c.tends() {
		return
	}
	now := time.Now()
	t.seen[e.session] = now
	if mine {
		if now.Sub(t.heard) > c.deaf() {
			t.since = now
		}
		t.heard = now
	}
	if told {
		signal(t.stir)
	}
}

// deaf is how long this process hears nothing of itself before it can tell nothing of others:
// it may be the one that is silent, or the store is.
func (c *Cell) deaf() time.Duration { return 2 * c.cfg.TTL / 3 }

// applyKeep applies a keepEntry.
func (c *Cell) applyKeep(at Position, e *entry, mine bool) (own []sending, err error) {
	k, ok := decodeKeeping(e.body)
	if !ok {
		return nil, errSkipped
	}
	c.mu.Lock()
	if mine {
		own, c.flight = c.flight, nil
	}
	if k.action == postNotes && !c.state.post(e.session, k.notes) {
		c.state.skipped++
	}
	ended, session := c.state.keep(e.session, k), c.session
	if t := &c.tending; c.tends() {
		delete(t.seen, ended)
		delete(t.proposed, ended)
		switch k.action {
		case spendShare:
			c.forget()
			t.spent = append(t.spent, spending{time.Now(), float64(k.args[0]) / 1e6})
		case askShare:
			t.asked = true
		case settleSession:
			t.asked = t.asked && len(c.state.expired) > 0
		}
		signal(t.stir)
	}
	c.mu.Unlock()
	if ended != 0 && ended == session {
		return nil, c.expire(at)
	}
	return own, nil
}

// forget drops releases that are too old to count. Called with mu held.
func (c *Cell) forget() {
	t := &c.tending
	t.spent = slices.DeleteFunc(t.spent, func(one spending) bool { return time.Since(one.at) >= spentFor*c.cfg.TTL })
}

// applyEnd applies an endEntry.
func (c *Cell) applyEnd(e *entry, mine bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(e.body) > 0 { // it has left no schedulers
		c.state.unpost(e.session)
		delete(c.state.sessions, e.session)
	} else {
		c.state.end(e.session)
	}
	if delete(c.tending.seen, e.session); mine {
		c.session = 0 // the entry may have been sent twice
	}
	signal(c.tending.stir)
	return nil
}

// expire ends the journal of a process whose session was ended. No copy applies what is in
// flight: it comes behind the end.
func (c *Cell) expire(at Position) error {
	err := failed(fmt.Errorf("%w: at position %d", ErrExpired, at))
	c.refuse(err)
	return err
}

// tendAll keeps the session, ends those of processes that are silent, and releases what
// these held.
func (c *Cell) tendAll() {
	for {
		due := time.NewTimer(c.tend(time.Now()))
		select {
		case <-due.C:
		case <-c.tending.stir:
		case <-c.life.Done():
			due.Stop()
			return
		}
		due.Stop()
	}
}

// tend does the work that is due, and returns the time until the next work.
func (c *Cell) tend(now time.Time) time.Duration {
	c.mu.Lock()
	t := &c.tending
	if c.err != nil || c.closing {
		c.mu.Unlock()
		return c.cfg.TTL
	}
	next := t.wrote.Add(c.cfg.TTL / 3)
	var send []keeping
	propose, switches := c.silent(now, &next)
	if switches {
		t.switching = true
	}
	quiet := len(c.queue)+len(c.flight) == 0
	if v := c.writes(); t.told != v || quiet && now.Sub(t.wrote) >= c.cfg.TTL/3 {
		send = append(send, keeping{action: keepSession, args: [2]uint64{uint64(c.cfg.TTL)}})
		t.told = v
	}
	if !next.After(now) {
		next = now.Add(c.cfg.TTL / 10) // the entry is on its way, or another one
	}
	send = append(send, propose...)
	if s := &c.state; len(s.expired) > 0 && s.reaper() == c.session && !t.reaping {
		t.reaping = true
		c.running.Go(c.reap)
	}
	c.mu.Unlock()
	for _, k := range send {
		c.put(sending{keeps: k, done: make(chan error, 1)})
	}
	return max(next.Sub(now), time.Millisecond)
}

// silent returns the ends of sessions that are to be proposed, and whether entries of the
// latest version may be written. next becomes the time at which to look again, if that is
// earlier. Called with mu held.
//
// A process that has not heard itself for a while proposes nothing: it was stopped, or the
// store was. Others have a whole TTL afterwards.
func (c *Cell) silent(now time.Time, next *time.Time) (propose []keeping, switches bool) {
	t, s := &c.tending, &c.state
	if now.Sub(t.heard) > c.deaf() {
		return nil, false
	}
	switches = s.version < latest && !t.switching
	for _, at := range slices.Sorted(maps.Keys(s.sessions)) {
		one, ttl := s.sessions[at], c.cfg.TTL
		expires, lacks := s.version > oldest && one.ttl > 0, s.version < latest && one.knows < latest
		if at == c.session || !expires && !lacks {
			continue
		}
		if expires {
			ttl = one.ttl
			switches = switches && !lacks // its end comes first
		}
		seen := t.seen[at]
		if seen.Before(t.since) {
			seen = t.since
		}
		due := seen.Add(ttl)
		switch {
		case now.Before(due):
			*next = earlier(*next, due)
			switches = switches && !lacks
		case expires && t.proposed[at] != one.number:
			t.proposed[at] = one.number
			propose = append(propose, keeping{action: expireSession, args: [2]uint64{uint64(at), one.number}})
		}
	}
	return propose, switches
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
