package pool

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// notes returns the notes to be written now. Called with mu held.
func (rs *replicas) notes() (list []journal.Note) {
	rs.looking = true // heldBack is to ask for no part
	for _, t := range rs.dirty {
		f := t.far
		f.dirty = false
		if t.children == nil {
			n := journal.Note{Key: t.name, Amount: rs.here(t)}
			if w := t.first; w != nil && rs.lend.settled && !rs.over && (!t.bounded || !t.heldBack(&w.need)) {
				n.Need = t.least
				if n.Need == (resources.Vector{}) {
					n.Need = *w.least()
				}
				if f.lacks == (resources.Vector{}) {
					rs.enter(t)
				}
			}
			if f.leases = t.leases; n.Amount != f.use || n.Need != f.lacks {
				f.use, f.lacks = n.Amount, n.Need
				list = append(list, n)
			}
		}
		if part, need, changed := rs.partOf(t); changed {
			f.sent, f.asked, f.sending = part, need, true
			f.part = f.part.Min(part)
			list = append(list, journal.Note{Key: limitKey + t.name, Amount: part, Need: need, Most: t.set.Limit, Bounded: true})
		}
	}
	rs.dirty, rs.looking = rs.dirty[:0], false
	return list
}

// write writes notes, until the pool ends.
func (rs *replicas) write() {
	defer rs.stop() // ends listen
	for {
		select {
		case <-rs.wake:
		case <-rs.live.Done():
			return
		}
		rs.mu.Lock()
		rs.tick()
		rs.sample()
		list, over := rs.notes(), rs.over
		rs.mu.Unlock()
		if len(list) > 0 {
			if rs.board.Post(rs.live, list...) != nil {
				return // the journal has failed, and the committer ends the pool
			}
			all, version, err := rs.board.Next(rs.live, 0)
			if err == nil {
				rs.mu.Lock()
				for i := range list {
					if name, ok := strings.CutPrefix(list[i].Key, limitKey); ok {
						if t := rs.tenants.lookUp(nil, name); t != nil && t.far != nil {
							t.far.sending = false
						}
					}
				}
				rs.apply(all, version)
				rs.mu.Unlock()
			}
		}
		if over {
			return
		}
		pause := time.NewTimer(noteEvery) // what changes meanwhile goes together
		select {
		case <-pause.C:
		case <-rs.live.Done():
			pause.Stop()
			return
		}
	}
}

// listen reads the notes of other replicas, until the pool ends.
func (rs *replicas) listen() {
	version := uint64(0)
	for {
		all, next, err := rs.board.Next(rs.live, version)
		if err != nil {
			rs.mu.Lock()
			if !rs.over {
				rs.lost(err) // the session has expired, or the journal has failed
			}
			rs.mu.Unlock()
			return
		}
		version = next
		rs.mu.Lock()
		rs.apply(all, version)
		rs.mu.Unlock()
	}
}

// apply brings the order and the parts of limits up to date with the board, and serves the
// requests that can be placed now. Called with mu held.
func (rs *replicas) apply(all []journal.Tally, version uint64) {
	if version < rs.version || rs.over {
		return // the other goroutine was faster
	}
	rs.version = version
	rs.tick()
	rs.sample()
	rs.epoch++
	for i := range all {
		name, limit := strings.CutPrefix(all[i].Key, limitKey)
		t := rs.named(name)
		if t == nil {
			continue
		}
		f := rs.farOf(t)
		if f.at != version {
			f.at, f.told, f.toldLimit = version, nil, nil
		}
		if limit {
			f.toldLimit = &all[i]
		} else {
			f.told = &all[i]
		}
	}
	rs.waiting = rs.waiting[:0]
	rs.known = slices.DeleteFunc(rs.known, func(t *Tenant) bool { return rs.tenants.byUser[t.user.Index()] != t })
	for _, t := range rs.known {
		f := t.far
		if f.at != version {
			f.told, f.toldLimit = nil, nil
		}
		rs.hear(t, cmp.Or(f.told, new(journal.Tally)))
		rs.hearLimit(t, cmp.Or(f.toldLimit, new(journal.Tally)))
		f.told, f.toldLimit = nil, nil
		if f.waits {
			rs.waiting = append(rs.waiting, t)
		}
	}
	rs.next()
	rs.lend.kick()
}

// named returns the tenant of a name in another replica. It makes one unless that may be a
// group's: the program makes groups.
func (rs *replicas) named(name string) *Tenant {
	t := rs.tenants.lookUp(nil, name)
	if t == nil && !rs.draining && !strings.Contains(name, "/") {
		t, _ = rs.tenants.add(nil, name)
	}
	return t
}

// hear notes the use and the waits of a tenant in other replicas.
func (rs *replicas) hear(t *Tenant, one *journal.Tally) {
	f := t.far
	if t.children != nil {
		return
	}
	if one.Others != f.run.Need || f.charged != (one.Others != resources.Vector{}) {
		if !resources.Fits(&one.Others, &f.held) {
			f.since = 0 // it was served
		}
		rs.charge(t, one.Others)
	}
	if one.Waits != f.waits || one.Need != f.need {
		if !f.waits {
			f.since = 0
			rs.enter(t)
		}
		f.waits, f.need = one.Waits, one.Need
		rs.tenants.await(t)
	}
	f.least = one.Least
}

// charge notes the use of a tenant in other replicas in the order.
func (rs *replicas) charge(t *Tenant, use resources.Vector) {
	f, q := t.far, rs.tenants.fair
	was := f.held
	switch {
	case !f.charged:
		f.run.Need = use
		f.charged = q.Start(t.user, &f.run, rs.at) == nil
	case use == resources.Vector{}:
		length, known := q.Expected(t.user)
		_ = q.End(&f.run, rs.at)
		if known { // the length of this run is that of no task
			_ = q.Expect(t.user, length)
		}
		f.charged = false
	default:
		_ = q.Resize(&f.run, use, rs.at) // of more than 2^62 in all it keeps the present use
	}
	now := resources.Vector{}
	if f.charged {
		now = f.run.Need
	}
	for g := t; g != nil; g = g.parent {
		of := rs.farOf(g)
		of.held, _ = of.held.Add(now).Sub(was)
	}
}

// disown notes that the journal of the cell has failed. Called with mu held.
func (cm *committer) disown(err error) {
	cm.lost = cmp.Or(cm.lost, err)
	cm.lend.kick()
}
