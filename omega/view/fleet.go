package view

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// unit describes a machine, in as few bytes as it takes: a frame of a large cell is as
// fast as memory.
type unit struct {
	live     int32
	there    bool
	draining bool
	queued   bool // it is in stale
}

// sums are amounts of all machines.
type sums struct {
	capacity, free, reserved       resources.Vector
	machines, draining, allocation int
}

// fleet has the machines of one cell, by number, as the last frame showed them. The
// cost of a frame is proportional to the changes since.
type fleet struct {
	cell     *omega.Cell
	epoch    uint64
	snapshot *omega.Snapshot
	kinds    int
	outgrown bool // a machine has more kinds
	units    []unit
	amounts  []int64  // of each machine, by kind: capacity, free, reserved
	colours  [][]byte // states: dominant, then by kind; by owner at last
	shared   bool     // frames have the slices of colours: they are not written any more
	ids      []omega.MachineID
	sharedID bool // the same of ids
	sums     sums
	owners   owners
	stale    []int32 // machines with an owner to be looked up
}

// newFleet returns the machines of a cell.
func newFleet(cell *omega.Cell, epoch uint64, now time.Time) *fleet {
	kinds := cell.Space().Kinds()
	for m := range cell.Machines() { // a space may name fewer
		for k := kinds; k < resources.MaxKinds; k++ {
			if m.Capacity[k] > 0 {
				kinds = k + 1
			}
		}
		if kinds == resources.MaxKinds {
			break
		}
	}
	f := &fleet{cell: cell, epoch: epoch, kinds: kinds, colours: make([][]byte, kinds+2)}
	f.owners.numbers = make(map[string]byte)
	f.snapshot = cell.Snapshot()
	f.snapshot.Refresh(now)
	f.grow(f.snapshot.Len())
	for m := range f.snapshot.Machines() {
		f.note(&m)
	}
	return f
}

// refresh brings the fleet up to date.
func (f *fleet) refresh(now time.Time) {
	f.snapshot.RefreshEach(now, func(m omega.MachineState) { f.note(&m) })
}

// note sets the present state of a machine.
func (f *fleet) note(m *omega.MachineState) {
	n := int(m.ID.Node())
	if n >= len(f.units) {
		f.grow(n + 1)
	}
	f.own()
	u := &f.units[n]
	amounts := f.amounts[n*3*f.kinds : (n+1)*3*f.kinds]
	f.count(u, amounts, -1)
	other := !u.there || f.ids[n] != m.ID
	u.there, u.draining, u.live = m.Condition != omega.Removed, m.Condition == omega.Draining, int32(m.Live)
	for k := range f.kinds {
		amounts[3*k], amounts[3*k+1], amounts[3*k+2] = m.Capacity[k], m.Free[k], m.Reserved[k]
	}
	f.count(u, amounts, 1)
	if f.ids[n] != m.ID {
		f.name(n, m)
	}
	f.paint(n, u, amounts)
	if last := f.colours[f.kinds+1]; !u.there {
		last[n] = absent
	} else if other {
		last[n] = unknown
	}
	if u.there && !u.queued {
		u.queued = true
		f.stale = append(f.stale, int32(n))
	}
}

// grow makes room for n machines.
func (f *fleet) grow(n int) {
	f.units = grown(f.units, n, unit{})
	f.amounts = grown(f.amounts, 3*f.kinds*n, 0)
	f.ids = grown(f.ids, n, 0) // frames that share it are shorter, here and below
	for c := range f.colours {
		f.colours[c] = grown(f.colours[c], n, absent)
	}
}

// name sets which machine has a number.
func (f *fleet) name(n int, m *omega.MachineState) {
	if f.sharedID {
		f.ids, f.sharedID = slices.Clone(f.ids), false
	}
	f.ids[n] = m.ID
	for k := f.kinds; k < resources.MaxKinds; k++ {
		f.outgrown = f.outgrown || m.Capacity[k] > 0
	}
}

// paint sets the states of a machine, but for its owner's.
func (f *fleet) paint(n int, u *unit, amounts []int64) {
	switch {
	case !u.there:
		f.set(n, absent)
	case u.draining:
		f.set(n, draining)
	default:
		most := lacking
		for k := range f.kinds {
			capacity := amounts[3*k]
			used := capacity - max(amounts[3*k+1], 0) - max(amounts[3*k+2], 0)
			s := share(used, capacity)
			if f.colours[k+1][n] = s; s != lacking && (most == lacking || s > most) {
				most = s
			}
		}
		f.colours[0][n] = most
	}
}

// set sets the states of a machine by all kinds.
func (f *fleet) set(n int, s byte) {
	for c := range f.kinds + 1 {
		f.colours[c][n] = s
	}
}

func fill(states []byte, s byte) {
	for i := range states {
		states[i] = s
	}
}

// own makes the states writable: frames that have them keep the old ones.
func (f *fleet) own() {
	if f.shared {
		for c := range f.colours {
			f.colours[c] = slices.Clone(f.colours[c])
		}
		f.shared = false
	}
}

// count adds or subtracts a machine.
func (f *fleet) count(u *unit, amounts []int64, sign int) {
	if !u.there {
		return
	}
	s := &f.sums
	for k := range f.kinds {
		s.capacity[k] += int64(sign) * amounts[3*k]
		s.free[k] += int64(sign) * amounts[3*k+1]
		s.reserved[k] += int64(sign) * amounts[3*k+2]
	}
	s.machines += sign
	s.allocation += sign * int(u.live)
	if u.draining {
		s.draining += sign
	}
}

// lookUps is how many allocations a frame looks at to find owners.
const lookUps = 20_000

// findOwners looks up the owners of machines that have changed, as many as a frame has
// time for. The others follow.
func (f *fleet) findOwners(filter func(kind, text string) string) {
	left, done := lookUps, 0
	for ; done < len(f.stale) && left > 0; done++ {
		n := f.stale[done]
		u := &f.units[n]
		if u.queued = false; !u.there {
			continue
		}
		all := f.cell.AllocationsOn(f.ids[n])
		left -= len(all) + 1
		state := f.owners.largest(f.cell, all, f.capacity(int(n)), filter)
		if last := f.colours[f.kinds+1]; last[n] != state {
			f.own()
			f.colours[f.kinds+1][n] = state
		}
	}
	f.stale = append(f.stale[:0], f.stale[done:]...)
}

// capacity returns the capacity of a machine.
func (f *fleet) capacity(n int) (v resources.Vector) {
	for k := range f.kinds {
		v[k] = f.amounts[(n*f.kinds+k)*3]
	}
	return v
}

// owners gives numbers to the accounts and schedulers that have most of a machine.
type owners struct {
	numbers map[string]byte // states, by account or scheduler
	names   []string        // by number from 1
	sums    map[string]resources.Vector
}

// largest returns the state of the owner with the largest dominant share of a machine.
// Allocations of no account are their scheduler's.
func (o *owners) largest(cell *omega.Cell, all []omega.Allocation, capacity resources.Vector, filter func(kind, text string) string) byte {
	if len(all) == 0 {
		return none
	}
	if o.sums == nil {
		o.sums = make(map[string]resources.Vector)
	}
	clear(o.sums)
	for i := range all {
		key := ownerOf(cell, &all[i])
		o.sums[key] = o.sums[key].Add(all[i].Need)
	}
	best, most := "", -1.0
	for key, sum := range o.sums {
		if s, _, _ := sum.DominantShare(capacity); s > most || s == most && key < best {
			best, most = key, s
		}
	}
	if s, known := o.numbers[best]; known {
		return s
	}
	if len(o.names) == steps {
		return other
	}
	kind, name := "account", best[1:]
	if best[0] == 's' {
		kind = "scheduler"
	}
	o.names = append(slices.Clip(o.names), show(filter, kind, name))
	o.numbers[best] = none + byte(len(o.names))
	return o.numbers[best]
}

// ownerOf returns the key of an owner: its name after an 'a' for an account, an 's' for a
// scheduler.
func ownerOf(cell *omega.Cell, a *omega.Allocation) string {
	if a.Account != 0 {
		if name, ok := cell.AccountName(a.Account); ok {
			return "a" + name
		}
	}
	return "s" + a.Scheduler
}
