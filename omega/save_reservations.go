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
	s.Uvarint(math.Float64bits(k.cell.share))
	s.Uvarint(uint64(k.lastReservation))
	line := k.reserved()
	s.Uvarint(uint64(len(line)))
	for _, r := range line {
		s.Uvarint(uint64(r.id))
		s.owner(r.owner)
		s.Uvarint(uint64(r.account))
		s.Varint(int64(r.precedence))
		s.time(r.until)
		s.Bool(r.active)
		s.Uvarint(uint64(len(r.parts)))
		for i := range r.parts {
			p := &r.parts[i]
			s.Uvarint(uint64(p.machine.Node()))
			s.Uvarint(uint64(p.machine.generation()))
			s.Vector(&p.need)
			if r.active {
				left := k.remains(r.reservation, p)
				s.Vector(&left)
			}
		}
	}
}

// reservations reads reservations, and has machines keep room for those that are active.
func (d *restorer) reservations() {
	c := d.cell
	if c.share = math.Float64frombits(d.Uvarint()); !(c.share > 0 && c.share <= 1) {
		d.Damaged("reservations may keep a share of %v, want 0 to 1", c.share)
	}
	c.lastReservation = ReservationID(d.Uvarint())
	accounts := uint64(len(*c.ledgers.Load()))
	var line []lined
	for n := d.Uvarint(); n > 0 && d.Err == nil; n-- {
		r := &reservation{id: ReservationID(d.Uvarint()), owner: d.owner("scheduler of a reservation")}
		r.account, r.precedence, r.until = Account(d.Below(accounts, "account")), d.precedence(), d.time()
		one := lined{r, d.Bool("whether it keeps room")}
		switch {
		case r.owner == nil:
			d.Damaged("reservation %d without a scheduler, want one", r.id)
		case r.id == 0 || r.id > c.lastReservation:
			d.Damaged("reservation %d, want 1 to %d", r.id, c.lastReservation)
		case len(line) > 0 && !line[len(line)-1].before(r):
			d.Damaged("reservation %d after %d, want the order of precedence and age", r.id, line[len(line)-1].id)
		case len(line) == 0 && !one.active:
			d.Damaged("the first reservation keeps no room, want that it does")
		}
		for parts := d.Uvarint(); parts > 0 && d.Err == nil; parts-- {
			d.part(&one)
		}
		if len(r.parts) == 0 {
			d.Damaged("reservation %d on no machine, want one or more", r.id)
		}
		line = append(line, one)
	}
	if d.Err == nil {
		seen := make(map[ReservationID]bool, len(line))
		for _, r := range line {
			if seen[r.id] {
				d.Damaged("reservation %d a second time", r.id)
			}
			seen[r.id] = true
		}
		c.setLine(line)
	}
}

// part reads the room reserved on one machine.
func (d *restorer) part(r *lined) {
	node := uint32(d.Below(uint64(d.cell.nodes.Load()), "machine of a reservation"))
	generation := uint32(d.Below(lastGeneration+1, "generation"))
	need, left := d.Vector("need of a reservation"), resources.Vector{}
	if r.active {
		left = d.Vector("what is left of a reservation")
	}
	if d.Err != nil {
		return
	}
	id := d.cell.machine(node, generation)
	v := load(d.cell.words.at(node)) // which no other goroutine knows yet
	last := len(r.parts) - 1
	for k, q := range need {
		if q > resources.MaxQuantity-r.need[k] {
			d.Damaged("reservation %d needs more of kind %d than can be counted", r.id, k)
			return
		}
	}
	switch {
	case need == resources.Vector{}:
		d.Damaged("reservation %d of nothing, want some of a kind", r.id)
	case last >= 0 && cmp.Compare(r.parts[last].machine.Node(), id.Node()) >= 0:
		d.Damaged("reservation %d: machine %d after %d, want rising order", r.id, node, r.parts[last].machine.Node())
	case left == resources.Vector{}:
	case v.spec.id != id || v.cond == Removed:
		d.Damaged("reservation %d keeps room on machine %v, which there is not", r.id, id)
	case !left.Fits(need):
		d.Damaged("reservation %d has %s left, want %s at most", r.id, d.named.Format(left), d.named.Format(need))
	default:
		v.setReserved(v.reserved().with(r.reservation, left))
	}
	r.parts, r.need = append(r.parts, part{id, need}), r.need.Add(need)
}
