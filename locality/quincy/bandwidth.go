package quincy

import "github.com/cellsched/cellsched/locality"

// Link is the network link of a machine: its capacity, and the sum of its tasks'
// requests. Both are in one unit, such as megabits a second.
type Link struct {
	Node           locality.Node
	Capacity, Used int64
}

// BandwidthCosts are the costs of the network-aware policy of the Firmament paper,
// section 3. A task that asks for bandwidth has arcs to machines with so much to
// spare. Each costs the request and the bandwidth in use there, so that links fill
// evenly.
//
// In the paper an aggregator for each size of request stands between tasks and
// machines; here each task has the arcs itself. In both, the arcs use the spare
// bandwidth before the round. To be exact, a round must place one task on a machine
// at most: with [Planner.SetSlots] give each one slot more than it has tasks. Then
// no link is promised twice. With more slots a round places more tasks, and the
// caller has to check that they fit.
type BandwidthCosts struct {
	// Most is the largest number of machines that a task has arcs to: the least
	// used ones. Less than 1 is all that fit.
	Most int
	// Wait is the cost of a unit of time that a task waits. Unscheduled is added to
	// it, as in [DataCosts].
	Wait        int32
	Unscheduled int64
}

// Arcs appends the arcs of a task with this request, for [Config.Arcs]. If links
// have changed, call [Planner.UpdateTask] for a waiting task before a round; a
// running one stays, or is preempted. Costs are limited to [MaxCost]. Cost:
// O(links), and sorting those that fit.
func (c BandwidthCosts) Arcs(arcs []Arc, request int64, links []Link, s State, now int64) []Arc {
	arcs = append(arcs, waitArc(c.Unscheduled, c.Wait, s, now))
	first := len(arcs)
	for _, l := range links {
		switch {
		case s.Running && s.On == l.Node:
			return append(arcs[:first], Arc{To: OnMachine(l.Node), Cost: clampCost(l.Used, 0)})
		case l.Capacity-l.Used >= request:
			arcs = append(arcs, Arc{To: OnMachine(l.Node), Cost: clampCost(l.Used, request)})
		}
	}
	if s.Running {
		return append(arcs[:first], Arc{To: OnMachine(s.On)})
	}
	most := len(links)
	if c.Most > 0 {
		most = c.Most
	}
	return cheapest(arcs, first, most)
}
