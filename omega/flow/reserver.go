package flow

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/luby"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// reserver reserves a machine for a task larger than a slot that has waited beyond the
// patience, in the plan and in the cell.
type reserver[J, T comparable] struct {
	cfg       *Config[T]
	book      *book[J, T]
	fleet     *fleet[J, T]
	promises  *promises[J, T]
	admission *admission[J, T]

	current       reservedMachine[J, T]  // the reserved machine, if any
	triedMachines []*machine[J, T]       // machines reserved for the task before, without success
	short         int                    // so many times a patience was too short for it
	choosing      *reservedMachine[J, T] // of the task that arcs are asked for
	reservations  []reservation[J, T]    // in the cell
}

// reservedMachine is a machine that the plan reserves for a task larger than a slot.
type reservedMachine[J, T comparable] struct {
	task *task[J, T]
	on   *machine[J, T]
	// lack is the largest missing part of the task's need, over all kinds. It is only
	// compared. So rounding can at most decide between two machines that lack the same.
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

// reservation is a reservation in the cell, of the machine that is reserved for a task. It
// lasts until the task has its allocation there.
type reservation[J, T comparable] struct {
	id   omega.ReservationID
	task *task[J, T]
	on   *machine[J, T]
}

// maxPatiences bounds the length of a reservation, in units of the patience. A machine that
// gets no nearer to the need is given up after one. The patience of later machines is that
// of package luby, so that one is long enough: see [omega.Reservation].
const maxPatiences = 10

// reserve keeps a machine free of other tasks, for the task that has waited longest beyond
// the patience, until the room is there. Then it promises the room to the task: a plan
// might give it to smaller tasks again, at a lower cost.
func (kp *reserver[J, T]) reserve() {
	tk := kp.longest()
	if tk == nil && kp.current.on == nil {
		return
	}
	before, after := kp.current, reservedMachine[J, T]{task: tk, since: kp.book.now}
	switch {
	case tk != before.task:
		// Another task may do with a machine that did not serve the last one.
		kp.triedMachines, kp.short = kp.triedMachines[:0], 0
	case before.on != nil && kp.book.now-before.since >= int64(luby.Length(time.Duration(kp.book.patience), kp.short)):
		kp.triedMachines = append(kp.triedMachines, before.on)
		kp.short++
	}
	if tk != nil {
		kp.choosing = &after
		kp.book.ask(tk)
		if after.on == nil && len(kp.triedMachines) > 0 {
			// All that could serve have had their turn: begin anew with the first.
			kp.triedMachines = kp.triedMachines[:0]
			kp.book.ask(tk)
		}
		kp.choosing = nil
	}
	if tk == before.task && before.on == after.on && after.lack >= before.lack {
		// The machine has got no nearer to the need, so its patience goes on.
		after.since = before.since
	}
	kp.unreserve()
	kp.current = after
	if m := after.on; m != nil {
		m.reserved = true
		kp.fleet.markDirty(m)
		if after.lack == 0 {
			kp.promiseRoom(m, tk)
		}
	}
}

// unreserve ends the reservation of the plan.
func (kp *reserver[J, T]) unreserve() {
	if m := kp.current.on; m != nil {
		m.reserved = false
		kp.fleet.markDirty(m)
	}
	kp.current = reservedMachine[J, T]{}
}

// longest returns the exact task that has waited for longest, beyond the patience.
func (kp *reserver[J, T]) longest() (first *task[J, T]) {
	for _, tk := range kp.book.exactTasks {
		if tk.small || tk.limited || tk.run != nil || tk.job.planned >= tk.job.maxShare || !kp.book.impatient(tk.since) {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(tk.since, first.since), cmp.Compare(tk.pos, first.pos)) < 0 {
			first = tk
		}
	}
	return first
}

// choose finds the machine to reserve for the task of k, which has these arcs. A machine
// counts if it has room for the need when it is empty, and costs less than to wait. The
// order:
//
//  1. the machine that is reserved for this task;
//  2. the one that lacks least of the need now;
//  3. the one that is reserved for another task, or costs least.
//
// A machine that was reserved for a patience and has got no nearer is left out until all have
// been tried.
func (kp *reserver[J, T]) choose(k *reservedMachine[J, T], arcs []quincy.Arc, racks *quincy.Racks) {
	waits := int64(quincy.MaxCost)
	if i := slices.IndexFunc(arcs, func(a quincy.Arc) bool { return a.To == quincy.Unscheduled() }); i >= 0 {
		waits = arcs[i].Cost
	}
	best := int64(0)
	for _, m := range kp.fleet.machines {
		if m == nil || !m.takes() || !resources.Fits(&k.task.want.Need, &m.all) || slices.Contains(kp.triedMachines, m) {
			continue
		}
		left, ok := m.left()
		cost, leads := cheapest(arcs, m, racks)
		if !ok || !leads || cost >= waits {
			continue
		}
		lack := lackOf(&k.task.want.Need, &left)
		if m.reserved && kp.current.task == k.task {
			k.on, k.lack = m, lack // the older its reservation the better
			return
		}
		if k.on == nil || lack < k.lack || lack == k.lack && !k.on.reserved && (m.reserved || cost < best) {
			k.on, k.lack, best = m, lack, cost
		}
	}
}

// promiseRoom promises tk room on m that is free, or is becoming free.
func (kp *reserver[J, T]) promiseRoom(m *machine[J, T], tk *task[J, T]) {
	left, promised, ok := kp.admission.room()
	if room, _ := left.Sub(promised); !ok || !tk.want.Need.Fits(room) {
		// The machine has the room, but the limits of the scheduler do not.
		return
	}
	kp.unreserve()
	kp.book.plan(tk, m)
	kp.promises.promise(m, tk)
	tk.assured, tk.started = true, kp.book.now
	kp.book.replan(tk)
}

// wanted reports whether the machine is still reserved for the task, or promised to it.
func (kp *reserver[J, T]) wanted(r reservation[J, T]) bool {
	return kp.current.on == r.on && kp.current.task == r.task || r.task.at == r.on && r.task.next == nil && r.task.run == nil
}

// reservationOf returns the reservation that the claim of a task is to name, or 0.
func (kp *reserver[J, T]) reservationOf(tk *task[J, T]) omega.ReservationID {
	for _, r := range kp.reservations {
		if r.task == tk && r.on == tk.at {
			return r.id
		}
	}
	return 0
}

// recount drops the reservations that have ended in the cell.
func (kp *reserver[J, T]) recount(snap *omega.Snapshot) {
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
func (kp *reserver[J, T]) release(r reservation[J, T]) {
	r.on.reservation = 0
	kp.fleet.reread(r.on)
}

// rereserve adds to the transaction the end of unwanted reservations and the begin of the
// current one. It returns the function that applies the outcome, nil if there is nothing to
// begin or end.
func (kp *reserver[J, T]) rereserve(tx *omega.Txn, now time.Time) (settle func()) {
	var ended []reservation[J, T]
	begins, k := kp.current.on != nil, kp.current
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
		// The cell ends the reservation by itself if this process does not.
		until := luby.Length(min(kp.cfg.Patience, luby.Longest/maxPatiences)*maxPatiences, kp.short)
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
