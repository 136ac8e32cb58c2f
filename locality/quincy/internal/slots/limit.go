package slots

import "math"

// limits holds for tasks the price at which they would leave where they sit:
// at which another option is as cheap. What is noted is never too high: prices
// that rise leave it as it is or too low, and for those that fall it is lowered
// by as much as any of them did.
type limits struct {
	noted  []limit // by task
	epoch  int32
	fallen int64 // how far prices may have fallen, in all
}

type limit struct {
	price int64 // and what had fallen then
	epoch int32 // valid if it is that of limits
}

// forget makes all that is noted invalid.
func (l *limits) forget() {
	if l.epoch == math.MaxInt32 {
		l.epoch = 0
		clear(l.noted)
	}
	l.epoch++
	l.fallen = 0
}

// fall says that prices have fallen, none by more than that.
func (l *limits) fall(by int64) {
	if l.fallen += by; l.fallen > ceiling {
		l.forget()
	}
}

func (l *limits) note(t int32, price int64) { l.noted[t] = limit{price + l.fallen, l.epoch} }

func (l *limits) drop(t int32) { l.noted[t].epoch = 0 }

// above reports whether what is noted for t says that it does not leave at that
// price.
func (l *limits) above(t int32, price int64) bool {
	noted := l.noted[t]
	return noted.epoch == l.epoch && noted.price-l.fallen > price
}

// of returns what is noted for t, and looks it up if nothing is.
func (l *limits) of(n *Net, t int32) int64 {
	if l.noted[t].epoch != l.epoch {
		l.note(t, n.limit(t))
	}
	return l.noted[t].price - l.fallen
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
