package loop

import (
	"cmp"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// Stats are the counters and times of a loop so far, in the measures of the Omega paper,
// section 4.
type Stats struct {
	// Jobs: Pending have not ended. Among them Queued wait for their turn, Waiting
	// for their back-off and Parked for other machines.
	Submitted, Complete, Abandoned, Expired, Cancelled uint64
	Pending, Queued, Waiting, Parked                   int

	Attempts  uint64 // begun
	Succeeded uint64 // transactions without a conflict that placed something
	// Conflicts are transactions in which a claim no longer fitted, or its
	// machine was full, draining or gone.
	Conflicts uint64
	// NoRoom are attempts in which the search did not find enough to commit.
	NoRoom uint64
	// PassedUp are attempts in which the Place has passed up room.
	PassedUp uint64
	// Placed are tasks granted, Refused tasks refused at commit.
	Placed, Refused uint64
	// Preempted are placed tasks that were preempted or lost.
	Preempted uint64

	// Useful is the time spent on attempts that succeeded, Wasted on others:
	// think time, and in Run also the time of the steps. Elapsed is from the first
	// step to the last.
	Useful, Wasted, Elapsed time.Duration

	lost         uint64            // of Preempted
	waited, took observe.Histogram // see Counts
	refused      observe.Counts    // by reason

	// Start is from submission to the beginning of the first attempt, the job
	// wait time of the paper; First to the first task placed, Full to the last.
	Start, First, Full Distribution
}

// Busyness returns the share of the time that the scheduler spent making
// decisions, 0 if no time has passed. Omega paper, section 4.
func (s *Stats) Busyness() float64 {
	if s.Elapsed <= 0 {
		return 0
	}
	return float64(s.Useful+s.Wasted) / float64(s.Elapsed)
}

// ConflictFraction returns conflicts per transaction that succeeded: 3 means
// that it took four attempts on average. 0 if there was neither. Omega paper,
// section 4.
func (s *Stats) ConflictFraction() float64 {
	return float64(s.Conflicts) / float64(max(s.Succeeded, 1))
}

// Counts returns s in the shape that all packages share. Commits are transactions, Claims are
// tasks. Waited is from the submission to the first task placed; Placed is think time, and in
// Run also the time of the steps. Tasks refused at commit count by the reason of the first one
// of their transaction: see [omega.Reason]. "no room" counts attempts without a transaction, which
// are among the Claims. The claims by all reasons are in [omega.Scheduler.Stats].
func (s *Stats) Counts() observe.Counts {
	c := observe.Counts{
		Commits: s.Succeeded + s.Conflicts, Claims: s.Placed + s.Refused + s.NoRoom, Granted: s.Placed,
		Preempted: s.Preempted - s.lost, Waiting: s.Pending, Waited: s.waited, Placed: s.took,
	}
	c.Counted.Commits = true
	c.Refuse("no room", s.NoRoom)
	c.Add(&s.refused)
	return c
}

// meter keeps the statistics. Its mutex lets them be read from elsewhere; the
// steps are the only writers.
type meter struct {
	mu      sync.Mutex
	stats   Stats
	started bool
	first   time.Time
}

// tick notes the time of a step.
func (m *meter) tick(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.started {
		m.started, m.first = true, now
	}
	m.stats.Elapsed = max(m.stats.Elapsed, now.Sub(m.first))
}

// began counts an attempt; wait is since the submission, if it is the job's
// first.
func (m *meter) began(first bool, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Attempts++
	if first {
		m.stats.Start.Add(wait)
	}
}

// took counts the time of an attempt, once.
func (m *meter) took(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d > 0 {
		m.stats.took.Add(d)
	}
}

// spent adds time spent on an attempt.
func (m *meter) spent(d time.Duration, useful bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if useful {
		m.stats.Useful += d
	} else {
		m.stats.Wasted += d
	}
}

// settled counts the result of an attempt and of its job; wait is since the submission.
func (m *meter) settled(o *outcome, first, full bool, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.stats
	if o.passed {
		s.PassedUp++
	}
	switch {
	case !o.committed && o.passed:
	case !o.committed:
		s.NoRoom++
	case o.Conflict:
		s.Conflicts++
	case len(o.Granted) > 0:
		s.Succeeded++
	}
	s.Placed += uint64(len(o.Granted))
	if o.Refused > 0 {
		s.Refused += uint64(o.Refused)
		s.refused.Refuse(cmp.Or(omega.Reason(o.Why), "refused"), uint64(o.Refused))
	}
	if first {
		s.First.Add(wait)
		s.waited.Add(wait)
	}
	if full {
		s.Full.Add(wait)
	}
}

// preempted counts an allocation that was preempted or lost.
func (m *meter) preempted(fate omega.Fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Preempted++
	if fate == omega.Lost {
		m.stats.lost++
	}
}

// moved counts a job that has changed its state.
func (m *meter) moved(from, to state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add := func(st state, n int) {
		switch st {
		case queued:
			m.stats.Queued += n
		case waiting:
			m.stats.Waiting += n
		case parked:
			m.stats.Parked += n
		default:
		}
	}
	add(from, -1)
	add(to, 1)
}

// ended counts a job that has ended as the event says.
func (m *meter) ended(kind Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.stats
	switch kind {
	case Complete:
		s.Complete++
	case Abandoned:
		s.Abandoned++
	case Expired:
		s.Expired++
	case Cancelled:
		s.Cancelled++
	default:
	}
}
