package offers

import (
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// classes is how many classes of frameworks there are by how often they have
// declined, or not answered, since they last accepted: 0, 1, 2 or 3, up to 7, 15
// and 31 times, and more.
const classes = 7

// backoff is for how long, in intervals, a framework of a class does not see
// room again that it has refused, whatever it asked for. So whoever declines
// everything at once, with a filter of no time at all, gets a bounded number of
// offers: two for each machine, and then one in an interval that doubles up to
// 16.
func (c *client) backoff(f *member) time.Duration {
	if f.class < 2 {
		return 0
	}
	return min(min(c.cfg.Interval.or(DefaultInterval), MaxRefuse)<<(f.class-2), MaxRefuse)
}

// blame counts a refusal, however many offers it was of.
func (f *member) blame() {
	f.refusals++
	f.reclass()
}

// forgetRefusals forgets refusals.
func (f *member) forgetRefusals() {
	if f.refusals > 0 {
		f.refusals = 0
		f.reclass()
	}
}

func (f *member) reclass() {
	f.regroup(uint8(min(bits.Len(uint(f.refusals)), classes-1)), f.narrow)
}

// refuse hides from f what it refused on a machine, for d or as long as it has to
// stand back, and notes for others that they go first. It returns what hides it, if
// anything does.
func (fl *floor) refuse(f *member, n *node, room *resources.Vector, d time.Duration) *filter {
	n.refused, n.last = true, f
	back := fl.backoff(f)
	if d > 0 {
		d = min(max(d, fl.cfg.Interval.or(DefaultInterval)), MaxRefuse)
	}
	if d = max(d, back); d > 0 && !n.gone {
		return fl.hide(f, n.number, room, fl.now.Add(d), fl.now.Add(back))
	}
	return nil
}
