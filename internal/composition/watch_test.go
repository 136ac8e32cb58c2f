package composition_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// look is how often the watch looks at the world.
const look = 500 * time.Millisecond

// watch checks what holds whenever nothing is on its way: the books of the cell and of the
// parts, limits, guarantees, and the bound of reservations.
type watch struct {
	w    *world
	view *omega.Scheduler // which claims nothing

	lasting map[string]time.Time // conditions that must end, and since when they hold
	born    map[omega.AllocationID]time.Time

	line      map[omega.ReservationID]place // of each reservation at the last look
	seen      map[omega.ReservationID]bool
	longest   time.Duration // of a reservation at one place or nearer to the first
	farthest  int           // place at which the time of a reservation began
	disturbed int
}

// place is the place of a reservation in the order.
type place struct {
	now, since int // at present, and when its time began; the first place is 1
	begin      time.Time
	above      map[omega.AllocationID]bool // of higher precedence, on its machines
}

func (w *world) watch() *watch {
	return &watch{
		w: w, view: w.scheduler("watch", omega.Limits{}),
		lasting: map[string]time.Time{}, born: map[omega.AllocationID]time.Time{}, seen: map[omega.ReservationID]bool{},
	}
}

func (o *watch) String() string {
	return fmt.Sprintf("%d reservations, one waited %v, one from place %d; %d disturbed", len(o.seen), o.longest, o.farthest, o.disturbed)
}

func (o *watch) look() {
	if err := o.w.cell.Check(); err != nil {
		o.w.t.Error(err)
	}
	o.books()
	o.marks()
	o.reservations()
	for _, p := range o.w.parts {
		p.check()
		switch p := p.(type) {
		case *loopPart:
			o.ends(p.name+": a need has waited beyond the patience without a reservation", p.overdue() > o.reserved(p.scheduler))
		case *flowPart:
			o.ends("flow: a task has waited beyond the patience without a reservation", p.overdue() && o.reserved(p.scheduler) == 0)
		case *poolPart:
			o.ends("pool: a request within its guarantee waits, and leases could be preempted for it", p.preemptible())
			block, some := p.mischarged()
			o.ends(fmt.Sprintf("pool: no lease of its tenant uses the block %v", block), some)
		case *offersPart:
			o.ends("offers: a request within its guarantee waits, and tasks could be revoked for it", p.revocable())
		}
	}
}

// ends notes whether a condition holds, which may not last.
func (o *watch) ends(what string, holds bool) {
	since, held := o.lasting[what]
	switch {
	case !holds:
		delete(o.lasting, what)
	case !held:
		o.lasting[what] = time.Now()
	case time.Since(since) > grace+answer:
		o.w.t.Errorf("at %v, for %v: %s", time.Since(o.w.begin), time.Since(since), what)
	}
}

// books compares the usage of schedulers and accounts with their allocations, and checks
// the limits.
func (o *watch) books() {
	used, charged := map[string]resources.Vector{}, map[omega.Account]resources.Vector{}
	limits := map[string]omega.Limits{}
	for _, r := range o.w.registered {
		limits[r.Name()] = r.limits
	}
	born := make(map[omega.AllocationID]time.Time, len(o.born))
	for a := range o.w.cell.Allocations() {
		used[a.Scheduler], charged[a.Account] = used[a.Scheduler].Add(a.Need), charged[a.Account].Add(a.Need)
		if born[a.ID] = time.Now(); !o.born[a.ID].IsZero() {
			born[a.ID] = o.born[a.ID]
		}
		if time.Since(born[a.ID]) > lasting+look && a.Scheduler != "pool" {
			o.w.t.Errorf("at %v: allocation %v is older than %v", time.Since(o.w.begin), a, lasting)
		}
		l, ok := limits[a.Scheduler]
		if !ok {
			continue // of a framework
		}
		if a.Precedence < l.Lowest || a.Precedence > l.Highest || !l.Machines.Has(a.Machine.Node()) {
			o.w.t.Errorf("allocation %v is beyond the limits %v", a, l)
		}
	}
	o.born = born
	for _, r := range o.w.registered {
		name, sum := r.Name(), used[r.Name()]
		if got := r.Usage(); got != sum {
			o.w.t.Errorf("%s: usage %v, its allocations add up to %v", name, got, sum)
		}
		if l := limits[name]; l.Held != nil && !resources.Fits(&sum, l.Held) {
			o.w.t.Errorf("%s holds %v, limit of %v", name, sum, *l.Held)
		}
	}
	for account, sum := range charged {
		if got, err := o.w.cell.Usage(account); err != nil || got != sum {
			o.w.t.Errorf("account %d: usage %v, %v, its allocations add up to %v", account, got, err, sum)
		}
	}
}

// marks checks that what was preempted ends within its grace: its part was told of it.
func (o *watch) marks() {
	for _, r := range o.w.registered {
		for m := range r.Marked() {
			if m.Fate == omega.Preempted && time.Since(m.Until) > look {
				o.w.t.Errorf("at %v: %s: %v runs on, it was to stop by %v", time.Since(o.w.begin), r.Name(), m.Allocation, m.Until.Sub(o.w.begin))
			}
		}
	}
}

// reserved returns how many reservations a scheduler has.
func (o *watch) reserved(s *omega.Scheduler) (n int) {
	for r := range o.view.Snapshot().Reservations() {
		if r.Scheduler == s.Name() {
			n++
		}
	}
	return n
}

// reservations checks the bound of omega: the first in the order is ready once each
// allocation of the moment at which it became the first has ended, and is then granted. So
// the reservation at place n is granted, or ends, within n such times. The time begins anew
// where another reservation comes before it, and where a claim of higher precedence takes
// room on its machines or on those of a reservation before it.
func (o *watch) reservations() {
	o.view.Snapshot().Refresh(time.Now())
	line, n, disturbed := map[omega.ReservationID]place{}, 0, false
	for r := range o.view.Snapshot().Reservations() {
		n++
		o.seen[r.ID] = true
		o.ends(fmt.Sprintf("reservation %d of %s outlasts its time", r.ID, r.Scheduler), time.Now().After(r.Until) && o.w.arriving())
		was, known := o.line[r.ID]
		p := place{n, n, time.Now(), map[omega.AllocationID]bool{}}
		for _, c := range r.Claims {
			for _, a := range o.w.cell.AllocationsOn(c.Machine) {
				if a.Precedence > r.Precedence {
					p.above[a.ID] = true
					disturbed = disturbed || known && !was.above[a.ID]
				}
			}
		}
		switch {
		case known && disturbed:
			o.disturbed++
		case known && n <= was.now:
			p.since, p.begin = was.since, was.begin
		}
		line[r.ID] = p
		o.farthest = max(o.farthest, p.since)
		long := time.Since(p.begin)
		if o.longest = max(o.longest, long); long > time.Duration(p.since)*(lasting+answer) {
			o.w.t.Errorf("at %v: reservation %d of %s is at place %d after %v, it began at place %d: %+v",
				time.Since(o.w.begin), r.ID, r.Scheduler, n, long, p.since, r)
			for _, c := range r.Claims {
				m, _ := o.w.cell.State(c.Machine)
				o.w.t.Errorf("machine %+v has %+v", m, o.w.cell.AllocationsOn(c.Machine))
			}
		}
	}
	o.line = line
}
