package omega

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega/internal/frames"
	"github.com/cellsched/cellsched/resources"
)

// Save writes the whole cell at one moment, for [Restore]: machines and the numbers of
// removed ones, accounts, schedulers with limits, masks, epochs and admitted jobs, live
// allocations, marks and reservations. Waits in progress and snapshots are left out. The
// output is versioned and checksummed, and depends on nothing but the cell.
//
// The moment is that of a [Cell.Cut]: commits go on, and are in it or not. A mark that
// its preemptor has not made yet is saved, unless the grace is over or the machine was
// removed.
//
// Cost: that of the cut, and O(machines + allocations + marks). It takes some 200 KiB, 16
// bytes for each allocation and 32 to 96 more for each that differs from the others on
// its machine. The output is about 5 bytes an allocation where many are alike. Any
// goroutine may call it at any time. Errors: those of w.
func (c *Cell) Save(w io.Writer) error {
	switch {
	case c.none():
		return absent("cell")
	case w == nil:
		return absent("writer")
	}
	return c.Cut().Save(w)
}

// Save writes the cut as [Cell.Save] does, at the cost of writing.
func (k *Cut) Save(w io.Writer) error {
	switch {
	case k == nil || k.cell == nil:
		return absent("cut")
	case w == nil:
		return absent("writer")
	}
	version := uint32(frames.Version)
	if k.lastReservation > 0 || k.cell.share != defaultReserved {
		version = frames.Reserving
	}
	if k.cell.journal != nil {
		version = frames.Journaled
	}
	s := &saver{Writer: frames.NewWriter(w, version), cut: k}
	s.Uvarint(uint64(k.cell.tag))
	s.space(k.cell.space)
	s.accounts(k.ledgers)
	s.schedulers(k.schedulers)
	if version == frames.Journaled {
		s.handles(k)
	}
	s.machines(k)
	s.marks(k)
	if version >= frames.Reserving {
		s.reservations(k)
	}
	return s.End()
}

// The flags of limits.
const saveHeld, saveDivisible = 1, 2

// recentRecords is how many records a saver and a restorer remember, so that
// allocations which are alike refer to one.
const recentRecords = 1024

// saver writes a cell.
//
// A record is written in one of three forms:
//
//   - as a number below recentRecords, if it is like the record remembered there;
//   - as that number plus recentRecords, and the record, if it is to be remembered
//     there;
//   - as twice recentRecords, the record, its grantee and its extension, if it has
//     either.
type saver struct {
	frames.Writer
	cut    *Cut
	recent [recentRecords]record
	stamps [recentRecords]uint32 // how many records each place has had
	placed []placed              // by form of the machine
}

// placed is the place of a remembered record, which has it as long as the stamp is this.
type placed struct{ at, stamp uint32 }

func (s *saver) space(space *resources.Space) {
	s.Uvarint(uint64(space.Kinds()))
	for k := range space.Kinds() {
		d, _ := space.Dimension(resources.Kind(k))
		s.Text(d.Name)
		s.Uvarint(uint64(d.PerUnit))
		s.Bool(d.Binary)
	}
}

func (s *saver) accounts(ledgers []*ledger) {
	s.Uvarint(uint64(len(ledgers) - 1))
	for _, l := range ledgers[1:] { // the zero account has no name
		s.Text(l.name)
	}
}

func (s *saver) schedulers(schedulers []permit) {
	s.Uvarint(uint64(len(schedulers)))
	for _, p := range schedulers {
		l := &p.owner.limits
		s.Text(p.owner.name)
		s.Uvarint(p.epoch)
		s.Uvarint(uint64(p.jobs))
		flags := uint64(0)
		if l.Held != nil {
			flags |= saveHeld
		}
		if l.Divisible {
			flags |= saveDivisible
		}
		s.Uvarint(flags)
		if l.Held != nil {
			s.Vector(l.Held)
		}
		s.Uvarint(uint64(l.Jobs))
		s.Uvarint(uint64(l.Gang))
		s.Varint(int64(l.Lowest))
		s.Varint(int64(l.Highest))
		s.Bool(p.mask != nil)
		if p.mask != nil {
			s.Uvarint(uint64(len(*p.mask)))
			for _, word := range *p.mask {
				s.Uvarint(word)
			}
		}
	}
}

// handles writes the numbers by which operations name schedulers, and the schedulers that
// they work under.
func (s *saver) handles(k *Cut) {
	s.Uvarint(k.enrolled)
	for _, p := range k.schedulers {
		s.Uvarint(p.owner.num)
		if s.owner(p.chief); p.chief != nil {
			s.Uvarint(p.chiefEpoch)
		}
	}
}

func (s *saver) machines(k *Cut) {
	s.Uvarint(uint64(len(k.machines)))
	for i := range k.machines {
		if s.Err != nil {
			return
		}
		s.machine(&k.machines[i])
	}
	s.Uvarint(uint64(len(k.spare)))
	for _, node := range k.spare {
		s.Uvarint(uint64(node))
	}
}

func (s *saver) machine(m *past) {
	v := m.val
	s.Text(v.spec.Name)
	s.Uvarint(uint64(v.spec.id.generation()))
	s.Vector(&v.spec.Capacity)
	s.Uvarint(uint64(len(v.spec.Attributes)))
	for _, key := range slices.Sorted(maps.Keys(v.spec.Attributes)) {
		s.Text(key)
		s.Text(v.spec.Attributes[key])
	}
	s.Uvarint(uint64(v.cond))
	s.Uvarint(v.seq)
	s.Uvarint(uint64(v.claims))

	s.Uvarint(uint64(len(m.held.all)))
	s.placed = append(s.placed[:0], make([]placed, len(m.held.forms))...)
	next := uint32(0) // slot
	for _, h := range m.held.all {
		s.Uvarint(uint64(h.slot - next))
		s.Uvarint(v.seq - h.seq)
		next = h.slot + 1
		p := &s.placed[h.form]
		if p.stamp != 0 && p.stamp == s.stamps[p.at] {
			s.Uvarint(uint64(p.at))
			continue
		}
		var rec record
		m.held.unpack(h.form, &rec)
		if at, ok := s.record(&rec, v.seq); ok {
			*p = placed{uint32(at), s.stamps[at]}
		}
	}
	s.leaving(s.cut.remaining(v.leaving()), v.seq)
}

// record writes the record of an allocation on a machine. The number of the machine's
// last change is seq. If the record is remembered, it returns where.
func (s *saver) record(rec *record, seq uint64) (at uint64, ok bool) {
	t := rec.tally
	var after *leaving
	if rec.ext != nil {
		after = s.cut.remaining(rec.ext.after)
	}
	grantee := uint64(0) // also where it has left: a restored cell does not know that there was one
	if rec.grantee > 0 {
		grantee = s.cut.place(rec.grantee)
	}
	if grantee > 0 || after != nil {
		s.Uvarint(2 * recentRecords)
		s.plain(rec)
		s.Uvarint(grantee)
		s.leaving(after, seq)
		if after != nil {
			s.Vector(&rec.ext.had)
		}
		return 0, false
	}
	h := t.owner.hash<<32 ^ uint64(t.account)<<16 ^ uint64(t.precedence)
	for _, q := range rec.need {
		h = (h ^ uint64(q)) * 0x9E3779B97F4A7C15
	}
	at = h >> 32 % recentRecords
	if r := &s.recent[at]; r.tally == t && r.need == rec.need {
		s.Uvarint(at)
		return at, true
	}
	s.recent[at] = *rec
	s.stamps[at]++
	s.Uvarint(recentRecords + at)
	s.plain(rec)
	return at, true
}

// plain writes a record without its grantee and extension.
func (s *saver) plain(rec *record) {
	s.owner(rec.tally.owner)
	s.Uvarint(uint64(rec.tally.account))
	s.Varint(int64(rec.tally.precedence))
	s.Vector(&rec.need)
}

// owner writes the place of an owner in the cut, 0 for none: also for one that has
// left, which cannot come back.
func (s *saver) owner(o *owner) {
	if o == nil {
		s.Uvarint(0)
		return
	}
	s.Uvarint(s.cut.place(o.num))
}

func (s *saver) leaving(l *leaving, seq uint64) {
	if l == nil {
		s.Uvarint(0)
		return
	}
	s.Uvarint(uint64(len(*l)))
	for i := range *l {
		one := &(*l)[i]
		s.Uvarint(uint64(one.id.slot()))
		s.Uvarint(seq - one.id.seq)
		s.Vector(&one.need)
		s.owner(one.by)
		s.time(one.until)
	}
}

func (s *saver) time(t time.Time) {
	s.Varint(t.Unix())
	s.Uvarint(uint64(t.Nanosecond()))
}

func (s *saver) marks(k *Cut) {
	s.Uvarint(uint64(len(k.marks)))
	for i := range k.marks {
		m := &k.marks[i]
		seq := k.machines[m.id.node()].val.seq
		s.Uvarint(uint64(m.id.node()))
		s.Uvarint(uint64(m.machine.generation()))
		s.Uvarint(uint64(m.id.slot()))
		s.Uvarint(seq - m.id.seq)
		s.record(m.rec, seq)
		s.owner(m.by)
		if m.by != nil {
			s.time(m.until)
		}
	}
}
