package loop

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/luby"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// reserves is how many patiences the first reservation of a need lasts at most. A job that
// waits longer makes another one, on other machines and behind the reservations of other
// jobs. The lengths are the sequence of package luby, so one of them is long enough: see
// [omega.Reservation].
const reserves = 10

// patient reports whether a job may be kept waiting for room without a reservation.
func (l *Loop[K]) patient(p *Pending[K], now time.Time) bool {
	return l.cfg.Patience < 0 || p.room != 0 || now.Sub(p.since) < l.cfg.Patience
}

// reserve adds a reservation for the tasks of the attempt that need room at once, for
// which the Place has found too little.
func (l *Loop[K]) reserve(p *Pending[K], now time.Time) {
	a := &l.attempt
	if l.patient(p, now) || a.found.passed || l.engine.Txn.Len() >= p.atOnce() {
		return
	}
	claims := p.later(a.snap)
	if claims == nil && len(p.tried) > 0 {
		p.tried = p.tried[:0]
		claims = p.later(a.snap)
	}
	if claims == nil {
		return
	}
	unit := min(l.cfg.Patience, luby.Longest/reserves) * reserves
	p.until = now.Add(luby.Length(unit, p.short))
	p.on = p.on[:0]
	for _, c := range claims {
		p.on = append(p.on, c.Machine.Node())
	}
	l.engine.Txn.Reset()
	l.engine.Txn.Reserve(p.until, claims...)
	a.reserves = true
}

// later returns claims for the tasks that need room at once, on machines to be reserved, or
// nil. It skips the machines whose reservation was not used.
func (p *Pending[K]) later(snap *omega.Snapshot) (claims []omega.Claim) {
	q := p.job.Query()
	if allow := q.Allow; len(p.tried) > 0 {
		q.Allow = func(n locality.Node) bool { return !slices.Contains(p.tried, n) && (allow == nil || allow(n)) }
	}
	if snap.PlaceLater(q, p.atOnce(), func(m omega.MachineID, tasks int) {
		for range tasks {
			claims = append(claims, p.job.Claim(m))
		}
	}) < p.atOnce() {
		return nil
	}
	return claims
}

// reserved notes the outcome of the reservation of an attempt.
func (l *Loop[K]) reserved(p *Pending[K]) {
	if !l.attempt.reserves {
		return
	}
	if id, err := l.engine.Txn.Reservation(0); err == nil {
		p.room = id
	}
}

// reservation returns the job's reservation, and none once that has ended.
func (l *Loop[K]) reservation(p *Pending[K], snap *omega.Snapshot, now time.Time) omega.Reservation {
	if p.room == 0 {
		return omega.Reservation{}
	}
	for r := range snap.Reservations() {
		if r.ID == p.room && now.Before(r.Until) {
			return r
		}
	}
	if p.tried = append(p.tried, p.on...); !now.Before(p.until) {
		p.short++
	}
	l.unreserve(p)
	return omega.Reservation{}
}

// turn claims the reservation of a job for its attempt, and reports whether it is ready.
// If it is, the attempt places only the tasks that it is for.
func (l *Loop[K]) turn(p *Pending[K]) bool {
	a := &l.attempt
	r := l.reservation(p, a.snap, a.began)
	if !r.Ready {
		return false
	}
	a.tasks = p.atOnce()
	for _, part := range r.Claims {
		claim := p.job.Claim(part.Machine)
		claim.Reservation = r.ID
		for n := times(&part.Need, &p.job.Need); n > 0 && l.engine.Txn.Len() < a.tasks; n-- {
			l.engine.Txn.Claim(claim)
		}
	}
	return true
}

// unreserve ends the reservation of a job that does not need it any more.
func (l *Loop[K]) unreserve(p *Pending[K]) {
	if p.room != 0 {
		l.unwanted = append(l.unwanted, p.room)
		p.room = 0
	}
}

// withdraw commits the ends of the reservations that are not wanted any more, while no
// attempt is in progress. It returns false if that is to be tried again at a later time.
func (l *Loop[K]) withdraw(ctx context.Context, now time.Time) (until time.Time, ok bool, err error) {
	if len(l.unwanted) == 0 {
		return now, true, nil
	}
	if l.engine.Doubt() == 0 {
		if _, err := l.engine.Begin(ctx, now); err != nil {
			return now, false, err
		}
		for _, id := range l.unwanted {
			l.engine.Txn.Unreserve(id)
		}
		l.ending = len(l.unwanted)
	}
	_, err = l.engine.Commit(ctx, now)
	if doubt := l.engine.Doubt(); doubt > 0 && ctx.Err() == nil {
		return now.Add(l.backoff.After(doubt)), false, nil
	}
	if err == nil {
		l.unwanted = slices.Delete(l.unwanted, 0, l.ending)
	}
	return now, err == nil, err
}

// times returns how often need fits in all, which is of the same kinds.
func times(all, need *resources.Vector) int {
	n := int64(math.MaxInt32)
	for k, q := range need {
		if q > 0 {
			n = min(n, all[k]/q)
		}
	}
	return int(n)
}
