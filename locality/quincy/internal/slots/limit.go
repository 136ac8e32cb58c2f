package slots

import "math"

// limits holds for tasks the price at which they would leave where they sit:
// at which another option is as cheap. As long as prices only rise, what is
// noted is never too high.
type limits struct {
	noted []limit // by task
	epoch int32
}

type limit struct {
	price int64
	epoch int32 // valid if it is that of limits
}

// forget makes all that is noted invalid. It is called when prices have
// fallen.
func (l *limits) forget() {
	if l.epoch == math.MaxInt32 {
		l.epoch = 0
		clear(l.noted)
	}
	l.epoch++
}

func (l *limits) note(t int32, price int64) { l.noted[t] = limit{price, l.epoch} }

func (l *limits) drop(t int32) { l.noted[t].epoch = 0 }

// of returns what is noted for t, and looks it up if nothing is.
func (l *limits) of(n *Net, t int32) int64 {
	if l.noted[t].epoch != l.epoch {
		l.note(t, n.limit(t))
	}
	return l.noted[t].price
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

// never is above all prices and costs, and their sums and differences with it
// do not overflow: prices are within 2^60 of each other, and costs are small.
const never = int64(1) << 62
