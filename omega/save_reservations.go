package omega

import (
	"cmp"
	"math"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// remains returns what a reservation of the cut had left of a part, nothing for one that
// was granted.
func (k *Cut) remains(r *reservation, p *part) (need resources.Vector) {
	parts := k.machines[p.machine.Node()].val.reserved()
	if at := parts.find(r.id); at >= 0 {
		need = parts[at].need
	}
	return need
}

// reserved returns the reservations that had something left when the cut began.
func (k *Cut) reserved() []lined {
	return slices.DeleteFunc(slices.Clone(k.line), func(r lined) bool {
		return r.active && !slices.ContainsFunc(r.parts, func(p part) bool {
			return k.remains(r.reservation, &p) != resources.Vector{}
		})
	})
}

// reservations writes the reservations of the cut.
func (s *saver) reservations(k *Cut) {
	s.uvarint(math.Float64bits(k.cell.share))
	s.uvarint(uint64(k.lastReservation))
	line := k.reserved()
	s.uvarint(uint64(len(line)))
	for _, r := range line {
		s.uvarint(uint64(r.id))
		s.owner(r.owner)
		s.uvarint(uint64(r.account))
		s.varint(int64(r.precedence))
		s.time(r.until)
		s.bool(r.active)
		s.uvarint(uint64(len(r.parts)))
		for i := range r.parts {
			p := &r.parts[i]
			s.uvarint(uint64(p.machine.Node()))
			s.uvarint(uint64(p.machine.generation()))
			s.vector(&p.need)
			if r.active {
				left := k.remains(r.reservation, p)
				s.vector(&left)
			}
		}
	}
}

// reservations reads reservations, and has machines keep room for those that are active.
func (d *restorer) reservations() {
	c := d.cell
	if c.share = math.Float64frombits(d.uvarint()); !(c.share > 0 && c.share <= 1) {
		d.damaged("reservations may keep a share of %v, want 0 to 1", c.share)
	}
	c.lastReservation = ReservationID(d.uvarint())
	accounts := uint64(len(*c.ledgers.Load()))
	var line []lined
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		r := &reservation{id: ReservationID(d.uvarint()), owner: d.owner("scheduler of a reservation")}
		r.account, r.precedence, r.until = Account(d.below(accounts, "account")), d.precedence(), d.time()
		one := lined{r, d.bool("whether it keeps room")}
		switch {
		case r.owner == nil:
			d.damaged("reservation %d without a scheduler, want one", r.id)
		case r.id == 0 || r.id > c.lastReservation:
			d.damaged("reservation %d, want 1 to %d", r.id, c.lastReservation)
		case len(line) > 0 && !line[len(line)-1].before(r):
			d.damaged("reservation %d after %d, want the order of precedence and age", r.id, line[len(line)-1].id)
		case len(line) == 0 && !one.active:
			d.damaged("the first reservation keeps no room, want that it does")
		}
		for parts := d.uvarint(); parts > 0 && d.err == nil; parts-- {
			d.part(&one)
		}
		if len(r.parts) == 0 {
			d.damaged("reservation %d on no machine, want one or more", r.id)
		}
		line = append(line, one)
	}
	if d.err == nil {
		seen := make(map[ReservationID]bool, len(line))
		for _, r := range line {
			if seen[r.id] {
				d.damaged("reservation %d a second time", r.id)
			}
			seen[r.id] = true
		}
		c.setLine(line)
	}
}

// part reads what is reserved on one machine.
func (d *restorer) part(r *lined) {
	node := uint32(d.below(uint64(d.cell.nodes.Load()), "machine of a reservation"))
	generation := uint32(d.below(lastGeneration+1, "generation"))
	need, left := d.vector("need of a reservation"), resources.Vector{}
	if r.active {
		left = d.vector("what is left of a reservation")
	}
	if d.err != nil {
		return
	}
	id := d.cell.machine(node, generation)
	v := load(d.cell.words.at(node)) // which no other goroutine knows yet
	last := len(r.parts) - 1
	for k, q := range need {
		if q > resources.MaxQuantity-r.need[k] {
			d.damaged("reservation %d needs more of kind %d than can be counted", r.id, k)
			return
		}
	}
	switch {
	case need == resources.Vector{}:
		d.damaged("reservation %d of nothing, want some of a kind", r.id)
	case last >= 0 && cmp.Compare(r.parts[last].machine.Node(), id.Node()) >= 0:
		d.damaged("reservation %d: machine %d after %d, want rising order", r.id, node, r.parts[last].machine.Node())
	case left == resources.Vector{}:
	case v.spec.id != id || v.cond == Removed:
		d.damaged("reservation %d keeps room on machine %v, which there is not", r.id, id)
	case !left.Fits(need):
		d.damaged("reservation %d has %s left, want %s at most", r.id, d.named.Format(left), d.named.Format(need))
	default:
		v.setReserved(v.reserved().with(r.reservation, left))
	}
	r.parts, r.need = append(r.parts, part{id, need}), r.need.Add(need)
}
