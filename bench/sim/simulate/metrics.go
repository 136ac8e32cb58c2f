package simulate

import (
	"math"
	"slices"
	"time"
)

// Metrics is the result of a run, in the measures of the Omega paper,
// section 4. Decisions, and the jobs that they start, count if they end within
// the run.
type Metrics struct {
	Name       string        // of the architecture
	Span       time.Duration // the virtual time that has passed
	Events     uint64        // that were handled
	Schedulers []Load
	Classes    [Classes]ClassMetrics
	// Utilisation is the mean share of all CPU, and of all memory, in use over
	// the run, prefill included.
	Utilisation [2]float64
}

// ClassMetrics is the results for the jobs of one class.
type ClassMetrics struct {
	Submitted int // jobs
	Started   int // of these, that had an attempt
	Full      int // with all tasks placed, those meanwhile preempted again
	Abandoned int

	Work
	NoRoom           int // attempts that sent no claim: no machine was found, or too few for a gang
	Granted, Refused int // claims, at commits

	// Wait is from a job's submission to the beginning of its first attempt,
	// WaitFull to that of the attempt that placed the last of its tasks.
	Wait, WaitFull Summary
	// QueuedFull is the part of WaitFull that was spent in the queue: without
	// earlier attempts and the delays after them, as Google's simulator counts.
	// The parts of a job of which tasks were preempted count as one job.
	QueuedFull Summary
}

// Left returns how many jobs are neither placed nor abandoned.
func (c *ClassMetrics) Left() int { return c.Submitted - c.Full - c.Abandoned }

// Work is the attempts in some time.
type Work struct {
	// Useful is the time spent on attempts that placed something without a
	// conflict, Wasted on all others.
	Useful, Wasted time.Duration
	// Succeeded are transactions without a conflict, Conflicted with one.
	Succeeded, Conflicted int
}

// Conflicts returns the conflict fraction: conflicts per transaction that
// succeeded. 0 if there was neither; conflicts without a success are counted as
// if there had been one, since of none the fraction has no bound.
func (w *Work) Conflicts() float64 { return float64(w.Conflicted) / float64(max(w.Succeeded, 1)) }

func (w *Work) add(t *attempt) {
	w.count(t)
	w.spend(t, t.ends-t.began)
}

// count counts the transaction of an attempt.
func (w *Work) count(t *attempt) {
	switch {
	case t.granted < t.sent:
		w.Conflicted++
	case t.sent > 0:
		w.Succeeded++
	}
}

// spend adds a part of the time that an attempt took.
func (w *Work) spend(t *attempt, d time.Duration) {
	if t.sent > 0 && t.granted == t.sent {
		w.Useful += d
	} else {
		w.Wasted += d
	}
}

// Load is the work of one scheduler.
type Load struct {
	Name   string
	Serves [Classes]bool
	Work
	// Days is the work by day, the last of which may be shorter. Time is that
	// which was spent on the day, transactions are those that ended on it.
	Days []Work
	// Preempted is the number of its tasks that were, each of which it placed anew.
	Preempted int
	// Locked is the mean share of all CPU, and of all memory, that was offered to it
	// and that it had not answered: no other framework could have it.
	Locked [2]float64

	span time.Duration
}

const day = 24 * time.Hour

func (l *Load) add(t *attempt, now time.Duration) {
	l.Work.add(t)
	l.fill(max(now, 1)) // a job that ends at time 0 is of the first day
	for n := int(t.began / day); n < len(l.Days); n++ {
		midnight := time.Duration(n) * day
		l.Days[n].spend(t, min(t.ends, midnight+day)-max(t.began, midnight))
	}
	l.Days[len(l.Days)-1].count(t)
}

// fill adds days until they reach a time.
func (l *Load) fill(now time.Duration) {
	for now > time.Duration(len(l.Days))*day {
		l.Days = append(l.Days, Work{})
	}
}

// closeDays adds the days on which nothing was done.
func (l *Load) closeDays(span time.Duration) {
	l.span = span
	l.fill(span)
}

// Busyness returns the share of the time that the scheduler spent on decisions,
// wasted ones included. 0 if no time has passed.
func (l *Load) Busyness() float64 { return busyness(&l.Work, l.span) }

func busyness(w *Work, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(w.Useful+w.Wasted) / float64(span)
}

// Busyness returns the mean busyness of the schedulers that serve a class, 0 if
// there is none. It counts all their decisions, those on other classes as well: see
// [Metrics.BusynessOn].
func (m *Metrics) Busyness(c Class) float64 {
	sum, n := 0.0, 0
	for i := range m.Schedulers {
		if l := &m.Schedulers[i]; l.Serves[c] {
			sum += l.Busyness()
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// BusynessOn returns the mean share of the time that the schedulers which serve a
// class spent on decisions about jobs of that class, 0 if there is none. It is less
// than [Metrics.Busyness] where one scheduler serves several classes.
func (m *Metrics) BusynessOn(c Class) float64 {
	n := 0
	for i := range m.Schedulers {
		if m.Schedulers[i].Serves[c] {
			n++
		}
	}
	return busyness(&m.Classes[c].Work, m.Span) / float64(max(n, 1))
}

// Locked returns the mean share of all CPU, and of all memory, that was offered to
// the schedulers that serve a class, together.
func (m *Metrics) Locked(c Class) (share [2]float64) {
	for i := range m.Schedulers {
		if l := &m.Schedulers[i]; l.Serves[c] {
			for k := range share {
				share[k] += l.Locked[k]
			}
		}
	}
	return share
}

// Daily returns the median over the days of the busyness and of the conflict
// fraction of the schedulers that serve a class, as the paper reports them. A day
// that the run cuts short is left out, unless it is the only one; a day without
// a transaction has no conflict fraction.
func (m *Metrics) Daily(c Class) (busy, conflicts Median) {
	var b, f []float64
	for i := range m.Schedulers {
		l := &m.Schedulers[i]
		if !l.Serves[c] {
			continue
		}
		for n := range max(int(l.span/day), min(len(l.Days), 1)) {
			w := &l.Days[n]
			b = append(b, busyness(w, min(day, l.span)))
			if w.Succeeded+w.Conflicted > 0 {
				f = append(f, w.Conflicts())
			}
		}
	}
	return medianOf(b), medianOf(f)
}

// Median is a median and the median absolute deviation from it.
type Median struct{ Value, MAD float64 }

func medianOf(values []float64) Median {
	m := middle(values)
	apart := make([]float64, len(values))
	for i, v := range values {
		apart[i] = math.Abs(v - m)
	}
	return Median{m, middle(apart)}
}

// middle returns the median, 0 of nothing.
func middle(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Summary is a summary of many durations: quantiles are the least
// duration that the share of all did not exceed.
type Summary struct {
	Count          int
	Mean, P90, P99 time.Duration
}

func summarise(waits []time.Duration) Summary {
	s := Summary{Count: len(waits)}
	if s.Count == 0 {
		return s
	}
	sum := 0.0
	for _, w := range waits {
		sum += float64(w)
	}
	s.Mean = time.Duration(math.Round(sum / float64(s.Count)))
	sorted := slices.Sorted(slices.Values(waits))
	at := func(q float64) time.Duration { return sorted[int(math.Ceil(q*float64(s.Count)))-1] }
	s.P90, s.P99 = at(0.9), at(0.99)
	return s
}
