package pool

import "github.com/cellsched/cellsched/omega/observe"

// Counts returns the numbers of the tenant in the shape that all packages share. Granted are
// leases, and refusals are requests: one of several needs is granted as so many leases, and
// refused once. A request that waits for a token of the rate is no refusal. One that is
// granted as its context ends counts as granted and, since it is given back, as cancelled.
func (s *TenantStats) Counts() observe.Counts {
	c := observe.Counts{Name: s.Name, Granted: s.Granted, Preempted: s.Preempted, Waiting: s.Waiting}
	c.Refuse("cancelled", s.Cancelled)
	c.Refuse("closed", s.Closed)
	c.Refuse("never fits", s.Never)
	c.Refuse("no room", s.NoRoom)
	c.Refuse("queue full", s.QueueFull)
	c.Refuse("timed out", s.TimedOut)
	c.Claims = c.Granted
	for _, r := range c.Refused {
		c.Claims += r.Count
	}
	copy(c.Waited.Buckets[:], s.Waits)
	c.Waited.Sum = s.Waited
	return c
}
