package experiments

import (
	"cmp"
	"slices"
	"time"
)

// core is the switch between racks. All flows that pass it at a time have as much of
// it, but no more than the link of a machine takes.
//
// The rate is the same for all. So the bytes that a flow from the beginning would have
// got are one number. A flow ends when that number has grown, since the flow began, by
// the bytes that it is to move. All is in integers: times in
// microseconds, and the bytes got in millionths of a byte.
type core struct {
	capacity, link int64 // in bytes a second
	at             time.Duration
	got            int64  // until then
	flows          []flow // by where they end, then by number
}

type flow struct {
	number, begin, end int64 // begin and end as got counts
}

const perByte = int64(time.Second / time.Microsecond) // got for a byte

func (f flow) compare(g flow) int {
	return cmp.Or(cmp.Compare(f.end, g.end), cmp.Compare(f.number, g.number))
}

// rate returns the bytes a second of each flow, which is as many millionths in
// a microsecond.
func (c *core) rate() int64 {
	return max(1, min(c.link, c.capacity/int64(max(len(c.flows), 1))))
}

// advance has time pass.
func (c *core) advance(now time.Duration) {
	if len(c.flows) == 0 {
		c.at, c.got = now, 0
		return
	}
	c.got += int64((now-c.at)/time.Microsecond) * c.rate()
	c.at = now
}

// start begins to move bytes, one at least, by a flow of that number. Times do not
// go back.
func (c *core) start(now time.Duration, number, bytes int64) {
	c.advance(now)
	f := flow{number: number, begin: c.got, end: c.got + bytes*perByte}
	i, _ := slices.BinarySearchFunc(c.flows, f, flow.compare)
	c.flows = slices.Insert(c.flows, i, f)
}

// stop ends a flow and returns how many bytes it has moved.
func (c *core) stop(now time.Duration, number int64) (bytes int64) {
	c.advance(now)
	i := slices.IndexFunc(c.flows, func(f flow) bool { return f.number == number })
	if i < 0 {
		return 0
	}
	f := c.flows[i]
	c.flows = slices.Delete(c.flows, i, i+1)
	return (min(c.got, f.end) - f.begin) / perByte
}

// next returns which flow ends first, and when; false if there is none.
func (c *core) next() (at time.Duration, number int64, ok bool) {
	if len(c.flows) == 0 {
		return 0, 0, false
	}
	rate := c.rate()
	wait := (max(0, c.flows[0].end-c.got) + rate - 1) / rate
	return c.at + time.Duration(wait)*time.Microsecond, c.flows[0].number, true
}
