package slots

import "math"

// seat is a task where it sits, and the price at which it would leave: at which another
// option is as cheap. The noted price is never too high. Prices that rise leave it as it
// is or too low. For prices that fall it is lowered by as much as any of them did.
type seat struct {
	limit int64 // and what had fallen then
	task  int32
	epoch int32 // valid if it is that of limits, which is never 0
}

// limits says which of the limits noted in seats hold.
type limits struct {
	epoch  int32
	fallen int64 // how far prices may have fallen, in all
}

// forgetLimits makes all that is noted invalid.
func (n *Net) forgetLimits() {
	l := &n.limits
	if l.epoch == math.MaxInt32 {
		l.epoch = 0
		for v := range n.locs {
			for i := range n.locs[v].here {
				n.locs[v].here[i].epoch = 0
			}
		}
	}
	l.epoch++
	l.fallen = 0
}

// lowerLimits says that prices have fallen, none by more than that.
func (n *Net) lowerLimits(by int64) {
	if n.limits.fallen += by; n.limits.fallen > ceiling {
		n.forgetLimits()
	}
}

func (l *limits) note(s *seat, price int64) {
	s.limit, s.epoch = min(price, never)+l.fallen, l.epoch
}

// note notes the price at which t would leave where it sits.
func (n *Net) note(t int32, price int64) {
	p := &n.cur[t]
	n.limits.note(&n.locs[p.at].here[p.pos], price)
}

// above reports whether what is noted says that the task does not leave at that
// price.
func (l *limits) above(s *seat, price int64) bool {
	return s.epoch == l.epoch && s.limit-l.fallen > price
}

// of returns what is noted, and looks it up if nothing is.
func (l *limits) of(n *Net, s *seat) int64 {
	if s.epoch != l.epoch {
		l.note(s, n.limit(s.task))
	}
	return s.limit - l.fallen
}

// limit is the price at which t would leave where it sits, now.
func (n *Net) limit(t int32) int64 {
	p := n.cur[t]
	least := never
	opts := n.optionsOf(t)
	for i := range opts {
		if o := &opts[i]; o.at != p.at {
			least = min(least, o.cost(n.now)+n.price[o.at])
		}
	}
	if least == never {
		return never
	}
	return least - p.cost
}
