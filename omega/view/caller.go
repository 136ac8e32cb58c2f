package view

import (
	"fmt"
	"runtime/debug"
	"time"
)

// caller calls functions that may wait: the statistics of a pool, a loop or a source.
// At most one call is in progress. Until it returns, the last answer is shown.
type caller struct {
	call func() (put func()) // called without mu; put with mu held
	busy bool                // guarded by mu, as next is
	next time.Time
}

// patience is how long a frame waits for the answers that it has asked for.
const patience = 100 * time.Millisecond

// prepare makes the callers. Pools, loops and sources are complete and keep their places.
func (s *source) prepare() {
	add := func(call func() func()) { s.callers = append(s.callers, &caller{call: call}) }
	for i := range s.pools {
		p := &s.pools[i]
		add(func() func() {
			stats, waiters := p.pool.Stats(), p.pool.Waiters()
			return func() { p.stats, p.waiters = stats, waiters }
		})
	}
	for i := range s.loops {
		l := &s.loops[i]
		add(func() func() {
			stats := l.loop.Stats()
			return func() { l.stats = stats }
		})
	}
	for i := range s.sources {
		a := &s.sources[i]
		add(func() func() {
			counts := s.cfg.Sources[a.name]()
			counts.Name = a.name
			return func() { a.counts, a.known = counts, true }
		})
	}
}

// ask starts the calls that are due, and waits for them a little, without mu. A call that
// has panicked panics here.
func (s *source) ask() {
	s.mu.Lock()
	now := time.Now()
	if now.Before(s.asked) {
		s.mu.Unlock()
		return
	}
	s.asked = now.Add(overviews - every/2)
	s.counts, s.renew = nil, true
	ended, started := make(chan error, len(s.callers)), 0
	for _, c := range s.callers {
		if !c.busy && !now.Before(c.next) {
			c.busy = true
			started++
			go func() { ended <- s.run(c) }()
		}
	}
	s.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	for range started {
		select {
		case err := <-ended:
			if err != nil {
				panic(err)
			}
		case <-late.C:
			return
		}
	}
}

// run calls once. The next call comes the later the longer this one took.
func (s *source) run(c *caller) (err error) {
	began := time.Now()
	put := func() {}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("view: statistics panicked: %v\n%s", p, debug.Stack())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		put()
		c.busy, c.next = false, began.Add(min(20*time.Since(began), 10*time.Second))
		s.counts, s.renew = nil, true
	}()
	put = c.call()
	return nil
}
