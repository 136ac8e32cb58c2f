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

	first     omega.ReservationID // in the order
	since     time.Time
	above     map[omega.AllocationID]bool // of higher precedence, on its machines
	seen      map[omega.ReservationID]bool
	longest   time.Duration // that a reservation was the first
	disturbed int
}

func (w *world) watch() *watch {
	return &watch{
		w: w, view: w.scheduler("watch", omega.Limits{}),
		lasting: map[string]time.Time{}, born: map[omega.AllocationID]time.Time{}, seen: map[omega.ReservationID]bool{},
	}
}

func (o *watch) String() string {
	return fmt.Sprintf("%d reservations, one was the first for %v; %d disturbed", len(o.seen), o.longest, o.disturbed)
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

// reservations checks the bound of omega: what is the first in the order from some moment on
// is ready once each allocation of that moment has ended, and then it is granted. A claim of
// higher precedence on one of its machines may take the room.
func (o *watch) reservations() {
	o.view.Snapshot().Refresh(time.Now())
	var first omega.Reservation
	for r := range o.view.Snapshot().Reservations() {
		if o.seen[r.ID] = true; first.ID == 0 {
			first = r
		}
		o.ends(fmt.Sprintf("reservation %d of %s outlasts its time", r.ID, r.Scheduler), time.Now().After(r.Until) && o.w.arriving())
	}
	above, disturbed := map[omega.AllocationID]bool{}, false
	for _, c := range first.Claims {
		for _, a := range o.w.cell.AllocationsOn(c.Machine) {
			if a.Precedence > first.Precedence {
				above[a.ID] = true
				disturbed = disturbed || !o.above[a.ID]
			}
		}
	}
	if first.ID != o.first || disturbed {
		if first.ID == o.first {
			o.disturbed++
		}
		o.first, o.since = first.ID, time.Now()
	}
	if o.above = above; first.ID == 0 {
		return
	}
	long := time.Since(o.since)
	if o.longest = max(o.longest, long); long > lasting+answer {
		o.w.t.Errorf("at %v: reservation %d of %s is the first for %v: %+v", time.Since(o.w.begin), first.ID, first.Scheduler, long, first)
		for _, c := range first.Claims {
			m, _ := o.w.cell.State(c.Machine)
			o.w.t.Errorf("machine %+v has %+v", m, o.w.cell.AllocationsOn(c.Machine))
		}
	}
}
