package omega

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// restored is a record that was read, which many allocations may have.
type restored struct {
	record
	im   image             // of it, once it was put into a slot
	used *resources.Vector // of its tally
}

// record reads the record of an allocation on a machine. The number of the machine's
// last change is seq. It returns nil on an error.
func (d *restorer) record(node uint32, seq uint64) *restored {
	at := d.Below(2*recentRecords+1, "record")
	if at < recentRecords {
		if d.Err == nil && d.recent[at] == nil {
			d.Damaged("record like number %d, which there is not", at)
		}
		return d.recent[at]
	}
	rec := d.plain()
	if at == 2*recentRecords {
		if o := d.owner("grantee"); o != nil {
			rec.grantee = o.num
		}
		if after := d.leaving(node, seq); after != nil {
			rec.ext = &extension{after, d.Vector("what it runs with")}
			if had := rec.ext.had; !had.Fits(rec.need) {
				d.Damaged("an allocation that runs with %s, want %s at most", d.named.Format(had), d.named.Format(rec.need))
			}
		}
	} else {
		d.recent[at-recentRecords] = rec
	}
	if d.Err != nil {
		return nil
	}
	return rec
}

// plain reads a record without its grantee and extension. It is not to be used after an
// error.
func (d *restorer) plain() *restored {
	o := d.owner("scheduler of an allocation")
	account := Account(d.Below(uint64(len(*d.cell.ledgers.Load())), "account"))
	rec := &restored{record: record{tally: d.tally(o, charge{account, d.precedence()})}}
	if rec.used = d.used[rec.tally]; rec.used == nil {
		rec.used = new(resources.Vector)
		d.used[rec.tally] = rec.used
	}
	if rec.need = d.Vector("need"); rec.need == (resources.Vector{}) {
		d.Damaged("an allocation that needs nothing, want none: release it before the cell is saved")
	}
	return rec
}

func (d *restorer) tally(o *owner, c charge) *tally {
	if o == nil {
		d.Damaged("allocation without a scheduler, want one")
	}
	if d.Err != nil {
		return nil
	}
	return d.cell.tally(o, c.account, c.precedence)
}

// slot reads which slot of a machine an allocation has, from one on.
func (d *restorer) slot(from uint32) uint32 {
	return from + uint32(d.Below(uint64(maxAllocations-from), "slot"))
}

// age reads the change of a machine by which an allocation was granted.
func (d *restorer) age(seq uint64) uint64 {
	return seq - d.Below(max(seq, 1)-1, "age of an allocation") // so that the result is from 2
}

// hold puts an allocation into its slot.
func (d *restorer) hold(node, slot uint32, seq uint64, rec *restored) {
	at, im := d.cell.table(node), &rec.im
	if im.meta == 0 {
		im.pack(&rec.need, rec.tally, rec.grantee, rec.ext, d.cell.layout.size-slotHead)
	}
	own := at.grow(slot)
	own.meta().Store(im.meta)
	at.fill(slot, own, im)
	own.seq().Store(seq)
}

func (d *restorer) leaving(node uint32, seq uint64) *leaving {
	var l leaving
	for n := d.Uvarint(); n > 0; n-- {
		slot := d.slot(0)
		one := leaver{
			id:    allocationID(node, slot, d.cell.tag, d.age(seq)),
			need:  d.Vector("need of what is leaving"),
			by:    d.owner("preemptor"),
			until: d.time(),
		}
		if one.need == (resources.Vector{}) {
			d.Damaged("what is leaving needs nothing, want some of a kind")
		}
		if one.by == nil {
			d.Damaged("preemption by nobody, want a scheduler")
		}
		if d.Err != nil {
			return nil
		}
		l = append(l, one)
		d.left = append(d.left, one.id)
	}
	if len(l) == 0 {
		return nil
	}
	return &l
}

func (d *restorer) time() time.Time {
	sec := d.Varint()
	return time.Unix(sec, int64(d.Below(1e9, "nanosecond"))).UTC()
}

// leavers checks that the allocations that others wait for do not live.
func (d *restorer) leavers() {
	for _, a := range d.left {
		if d.Err != nil {
			return
		}
		if load(d.cell.words.at(a.node())).live.has(a.slot()) && d.cell.holds(a) {
			d.Damaged("allocation %v is both live and preempted", a)
		}
	}
}
