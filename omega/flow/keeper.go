package flow

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// keeper keeps a machine for a task larger than a slot that has waited beyond the patience,
// and reserves its room in the cell.
type keeper[J, T comparable] struct {
	cfg       *Config[T]
	book      *book[J, T]
	fleet     *fleet[J, T]
	promises  *promises[J, T]
	admission *admission[J, T]

	kept         keeping[J, T]       // the machine that is, if any
	vain         []*machine[J, T]    // those that were for that task, and to no avail
	choosing     *keeping[J, T]      // of the task that arcs are asked for
	reservations []reservation[J, T] // in the cell
}

// keeping is a machine that is kept for a task larger than a slot.
type keeping[J, T comparable] struct {
	task *task[J, T]
	on   *machine[J, T]
	// lack is the largest part of what the task needs of a kind that the machine
	// has not. It is but compared, so that rounding may choose one of two machines
	// that lack the same, and no more.
	lack  float64
	since int64 // it has not fallen
}

// cheapest returns the least cost of the arcs that lead to m.
func cheapest[J, T comparable](arcs []quincy.Arc, m *machine[J, T], racks *quincy.Racks) (cost int64, ok bool) {
	rack, _ := racks.Of(m.node)
	for _, a := range arcs {
		if a.To == quincy.OnMachine(m.node) || a.To == quincy.InRack(rack) || a.To == quincy.Cluster() {
			if !ok || a.Cost < cost {
				cost, ok = a.Cost, true
			}
		}
	}
	return cost, ok
}

// reservation is one of the cell's, for a task on the machine that is kept for it, until
// the task has its allocation there.
type reservation[J, T comparable] struct {
	id   omega.ReservationID
	task *task[J, T]
	on   *machine[J, T]
}

// longestPatiences is how many patiences a reservation lasts at most. A machine that gets
// no nearer to what it is kept for is given up after one.
const longestPatiences = 10

// reserve keeps a machine from all others for the task that waits beyond its
// patience, for longest, until it has the room. Then it is promised to it: a plan
// might give it to smaller ones again, for less.
func (kp *keeper[J, T]) reserve() {
	tk := kp.longest()
	if tk == nil && kp.kept.on == nil {
		return
	}
	before, after := kp.kept, keeping[J, T]{task: tk, since: kp.book.now}
	switch {
	case tk != before.task:
		kp.vain = kp.vain[:0]
	case before.on != nil && kp.book.impatient(before.since):
		kp.vain = append(kp.vain, before.on)
	}
	if tk != nil {
		kp.choosing = &after
		kp.book.ask(tk)
		if after.on == nil && len(kp.vain) > 0 {
			kp.vain = kp.vain[:0]
			kp.book.ask(tk)
		}
		kp.choosing = nil
	}
	if tk == before.task && before.on == after.on && after.lack >= before.lack {
		after.since = before.since
	}
	kp.unkeep()
	kp.kept = after
	if m := after.on; m != nil {
		m.kept = true
		kp.fleet.touch(m)
		if after.lack == 0 {
			kp.give(m, tk)
		}
	}
}

// unkeep keeps no machine any more.
func (kp *keeper[J, T]) unkeep() {
	if m := kp.kept.on; m != nil {
		m.kept = false
		kp.fleet.touch(m)
	}
	kp.kept = keeping[J, T]{}
}

// longest returns the task that has waited for longest, beyond the patience, of
// those that wait for a machine where they fit.
func (kp *keeper[J, T]) longest() (first *task[J, T]) {
	for _, tk := range kp.book.fitters {
		if tk.small || tk.over || tk.run != nil || tk.job.planned >= tk.job.top || !kp.book.impatient(tk.since) {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(tk.since, first.since), cmp.Compare(tk.pos, first.pos)) < 0 {
			first = tk
		}
	}
	return first
}

// choose finds the machine to keep for the task of k, which has these arcs. A machine
// counts if it has room for the need when it is empty, and costs less than to wait. The
// order:
//
//  1. the machine that is kept for this task;
//  2. the one that lacks least of the need now;
//  3. the one that is kept for another task, or costs least.
//
// A machine that was kept for a patience and has got no nearer is left out until all have
// been tried.
func (kp *keeper[J, T]) choose(k *keeping[J, T], arcs []quincy.Arc, racks *quincy.Racks) {
	waits := int64(quincy.MaxCost)
	if i := slices.IndexFunc(arcs, func(a quincy.Arc) bool { return a.To == quincy.Unscheduled() }); i >= 0 {
		waits = arcs[i].Cost
	}
	best := int64(0)
	for _, m := range kp.fleet.machines {
		if m == nil || !m.takes() || !resources.Fits(&k.task.want.Need, &m.all) || slices.Contains(kp.vain, m) {
			continue
		}
		left, ok := m.left()
		cost, leads := cheapest(arcs, m, racks)
		if !ok || !leads || cost >= waits {
			continue
		}
		lack := lackOf(&k.task.want.Need, &left)
		if m.kept && kp.kept.task == k.task {
			k.on, k.lack = m, lack // the older its reservation the better
			return
		}
		if k.on == nil || lack < k.lack || lack == k.lack && !k.on.kept && (m.kept || cost < best) {
			k.on, k.lack, best = m, lack, cost
		}
	}
}

// give has tk wait for room on m, which is there, or leaves.
func (kp *keeper[J, T]) give(m *machine[J, T], tk *task[J, T]) {
	left, promised, ok := kp.admission.room()
	if room, _ := left.Sub(promised); !ok || !tk.want.Need.Fits(room) {
		return
	}
	kp.unkeep()
	kp.book.plan(tk, m)
	kp.promises.promise(m, tk)
	tk.sure, tk.started = true, kp.book.now
	kp.book.replan(tk)
}

// wanted reports whether the machine is kept for the task still, or promised to it.
func (kp *keeper[J, T]) wanted(r reservation[J, T]) bool {
	return kp.kept.on == r.on && kp.kept.task == r.task || r.task.at == r.on && r.task.next == nil && r.task.run == nil
}

// reservationOf returns the reservation that the claim of a task is to name, or 0.
func (kp *keeper[J, T]) reservationOf(tk *task[J, T]) omega.ReservationID {
	for _, r := range kp.reservations {
		if r.task == tk && r.on == tk.at {
			return r.id
		}
	}
	return 0
}

// recount drops the reservations that have ended in the cell.
func (kp *keeper[J, T]) recount(snap *omega.Snapshot) {
	if len(kp.reservations) == 0 {
		return
	}
	there := map[omega.ReservationID]bool{}
	for r := range snap.Reservations() {
		there[r.ID] = true
	}
	kp.reservations = filter(kp.reservations, func(r reservation[J, T]) bool {
		if !there[r.id] {
			kp.release(r)
		}
		return there[r.id]
	})
}

// release notes that the cell has ended a reservation.
func (kp *keeper[J, T]) release(r reservation[J, T]) {
	r.on.reservation = 0
	kp.fleet.again(r.on)
}

// rereserve adds to the transaction what ends the reservations that are not wanted any more,
// and begins that of the machine that is kept. It returns what is to be done once the
// transaction has its outcome, nil where there is nothing to begin or end.
func (kp *keeper[J, T]) rereserve(tx *omega.Txn, now time.Time) (settle func()) {
	var ended []reservation[J, T]
	begins, k := kp.kept.on != nil, kp.kept
	for _, r := range kp.reservations {
		switch {
		case !kp.wanted(r):
			tx.Unreserve(r.id)
			ended = append(ended, r)
		case r.on == k.on && r.task == k.task:
			begins = false
		}
	}
	if !begins && len(ended) == 0 {
		return nil
	}
	i := -1
	if begins {
		until := kp.cfg.Patience
		if until < math.MaxInt64/longestPatiences {
			until *= longestPatiences
		}
		i = tx.Reserve(now.Add(until), k.task.claim(k.on))
	}
	return func() {
		kp.reservations = filter(kp.reservations, func(r reservation[J, T]) bool {
			if slices.Contains(ended, r) {
				kp.release(r)
				return false
			}
			return true
		})
		if id, err := tx.Reservation(i); err == nil {
			k.on.reservation = id
			kp.reservations = append(kp.reservations, reservation[J, T]{id, k.task, k.on})
		}
	}
}
