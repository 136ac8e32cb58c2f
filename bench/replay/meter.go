package main

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// maxSamples bounds the samples of shares over time: beyond twice as many every
// second one is dropped, and from then on half as many are taken.
const maxSamples = 256

// meter measures the resources held over time.
type meter struct {
	used     resources.Vector
	area     [resources.MaxKinds]float64 // used by seconds
	last     time.Time
	next     time.Time
	interval time.Duration
	changed  []*sharer // in this round
}

// sample is the share of each sharer at one moment.
type sample struct {
	At     float64            `json:"t_s"` // since the first submission
	Used   map[string]float64 `json:"used"`
	Shares map[string]float64 `json:"dominant_shares"`
}

func (m *meter) start(r *replay, now time.Time) {
	m.last, m.next, m.interval = now, now, r.cfg.sample
}

// advance counts the resources held up to a moment, and takes samples on the way.
func (m *meter) advance(r *replay, to time.Time) {
	for !m.next.After(to) && m.interval > 0 {
		r.result.Samples = append(r.result.Samples, m.take(r, m.next))
		if len(r.result.Samples) >= 2*maxSamples {
			for i := range maxSamples {
				r.result.Samples[i] = r.result.Samples[2*i]
			}
			clear(r.result.Samples[maxSamples:])
			r.result.Samples = r.result.Samples[:maxSamples]
			m.next = m.next.Add(m.interval)
			m.interval *= 2
			continue
		}
		m.next = m.next.Add(m.interval)
	}
	seconds := to.Sub(m.last).Seconds()
	for k, q := range m.used {
		m.area[k] += float64(q) * seconds
	}
	m.last = to
}

func (m *meter) take(r *replay, at time.Time) sample {
	s := sample{At: at.Sub(origin()).Seconds(), Used: r.portions(func(k int) float64 { return float64(m.used[k]) }), Shares: map[string]float64{}}
	for _, w := range r.all {
		usage, err := r.cell.Usage(w.account)
		if share, _, ok := usage.DominantShare(r.total); err == nil && ok && share > 0 {
			s.Shares[w.name] = share
		}
	}
	return s
}

// change notes that a sharer has n tasks more, or less.
func (m *meter) change(r *replay, s *sharer, need resources.Vector, n int) {
	for k := range r.kinds {
		m.used[k] += need[k] * int64(n)
		s.held[k] += need[k] * int64(n)
	}
	s.tasks += max(0, n)
	if !s.changed {
		s.changed = true
		m.changed = append(m.changed, s)
	}
}

// settle counts the share of each sharer that holds more or less than before this round:
// the share that it had.
func (m *meter) settle(r *replay) {
	for _, s := range m.changed {
		s.area += s.share * r.now.Sub(s.since).Seconds()
		s.since, s.changed = r.now, false
		s.share, _, _ = s.held.DominantShare(r.total)
		s.peak = max(s.peak, s.share)
	}
	m.changed = m.changed[:0]
}

// portions returns amounts as fractions of the cell, by kind.
func (r *replay) portions(of func(k int) float64) map[string]float64 {
	all := map[string]float64{}
	space := r.cell.Space()
	for k := range space.Kinds() {
		if r.total[k] > 0 {
			d, _ := space.Dimension(resources.Kind(k))
			all[d.Name] = of(k) / float64(r.total[k])
		}
	}
	return all
}

// finish checks that everything has ended and sums up.
func (r *replay) finish(start time.Time) (*result, error) {
	if err := r.balance(); err != nil {
		return nil, err
	}
	res := &r.result
	span := r.now.Sub(start).Seconds()
	res.Span = span
	res.Machines = len(r.cfg.machines)
	res.Unknown = r.sites.unknown
	res.Utilisation = r.portions(func(k int) float64 {
		if span == 0 {
			return 0
		}
		return r.meter.area[k] / span
	})
	for _, s := range r.all {
		mean := 0.0
		if span > 0 {
			mean = s.area / span
		}
		// No sharer holds anything now, so that the area is complete.
		res.Sharers = append(res.Sharers, sharing{Name: s.name, Tasks: s.tasks, Mean: mean, Peak: s.peak})
	}
	slices.SortStableFunc(res.Sharers, func(a, b sharing) int {
		switch {
		case a.Mean > b.Mean:
			return -1
		case a.Mean < b.Mean:
			return 1
		}
		return 0
	})
	res.TaskWait, res.JobWait = waitsOf(&res.taskWaits), waitsOf(&res.jobWaits)
	return res, nil
}
