package simulate

import "time"

// meters counts what becomes of jobs, by class.
type meters struct {
	started []bool // by job
	class   [Classes]meter
}

type meter struct {
	ClassMetrics
	waits, full []time.Duration
}

func newMeters(jobs int) meters { return meters{started: make([]bool, jobs)} }

func (m *meters) submitted(c Class) { m.class[c].Submitted++ }

func (m *meters) abandoned(c Class) { m.class[c].Abandoned++ }

// complete counts a job whose last attempt began at some time.
func (m *meters) complete(j *Job, began time.Duration) {
	c := &m.class[j.Class]
	c.Full++
	c.full = append(c.full, began-j.Submit)
}

// attempt counts an attempt that has ended.
func (m *meters) attempt(cfg *Config, t *attempt) {
	j := &cfg.Jobs[t.job]
	c := &m.class[j.Class]
	if !m.started[t.job] {
		m.started[t.job] = true
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
		m.complete(j, now)
	}
}

func (m *meters) metrics() (all [Classes]ClassMetrics) {
	for c := range m.class {
		all[c] = m.class[c].ClassMetrics
		all[c].Wait, all[c].WaitFull = summarise(m.class[c].waits), summarise(m.class[c].full)
	}
	return all
}
