package simulate

import "time"

// meters counts the outcomes of jobs, by class.
type meters struct {
	jobs  []progress // by job
	class [Classes]meter
}

// progress is the progress of a job: it is in more than one part once tasks of it
// were preempted, which are placed anew.
type progress struct {
	parts                      int32 // in a loop
	started, abandoned, closed bool

	ready, queued time.Duration // since when it is in the queue; for how long it was before
}

type meter struct {
	ClassMetrics
	waits, full, queued []time.Duration
}

func newMeters(jobs int) meters { return meters{jobs: make([]progress, jobs)} }

func (m *meters) submitted(c Class) { m.class[c].Submitted++ }

// begin notes that a part of a job has come to a loop.
func (m *meters) begin(job int, now time.Duration) {
	m.jobs[job].parts++
	m.jobs[job].ready = now
}

// pick notes that a job leaves the queue for an attempt.
func (m *meters) pick(job int, now time.Duration) {
	p := &m.jobs[job]
	p.queued += max(now-p.ready, 0) // parts may overlap
	p.ready = now
}

// delay notes when a job comes back to the queue.
func (m *meters) delay(job int, until time.Duration) { m.jobs[job].ready = until }

// end counts a job if this was the last part of it that was not placed, by an
// attempt that began at some time, or abandoned.
func (m *meters) end(job int, j *Job, began time.Duration, abandoned bool) {
	p := &m.jobs[job]
	p.parts--
	p.abandoned = p.abandoned || abandoned
	if p.parts > 0 || p.closed {
		return
	}
	if p.closed = true; p.abandoned {
		m.class[j.Class].Abandoned++
		return
	}
	m.complete(j, began, p.queued)
}

// complete counts a job with a last attempt that began at some time, after it was in
// the queue for so long.
func (m *meters) complete(j *Job, began, queued time.Duration) {
	c := &m.class[j.Class]
	c.Full++
	c.full = append(c.full, began-j.Submit)
	c.queued = append(c.queued, queued)
}

// attempt counts an attempt that has ended.
func (m *meters) attempt(cfg *Config, t *attempt) {
	j := &cfg.Jobs[t.job]
	c := &m.class[j.Class]
	if p := &m.jobs[t.job]; !p.started {
		p.started = true
		c.Started++
		c.waits = append(c.waits, t.began-j.Submit)
	}
	c.add(t)
	c.Granted += t.granted
	c.Refused += t.sent - t.granted
	if t.sent == 0 {
		c.NoRoom++
	}
}

// given counts the n-th task of a job that is given out at a time, where there
// are no attempts.
func (m *meters) given(j *Job, n int, now time.Duration) {
	c := &m.class[j.Class]
	c.Granted++
	if n == 1 {
		c.Started++
		c.waits = append(c.waits, now-j.Submit)
	}
	if n == j.Tasks {
		m.complete(j, now, now-j.Submit)
	}
}

func (m *meters) metrics() (all [Classes]ClassMetrics) {
	for c := range m.class {
		all[c] = m.class[c].ClassMetrics
		all[c].Wait, all[c].WaitFull = summarise(m.class[c].waits), summarise(m.class[c].full)
		all[c].QueuedFull = summarise(m.class[c].queued)
	}
	return all
}
