package quincy

import "github.com/cellsched/cellsched/locality"

// Link is the network link of a machine: how much it carries, and how much of
// that the tasks there have asked for, in one unit, for instance megabits a
// second.
type Link struct {
	Node           locality.Node
	Capacity, Used int64
}

// BandwidthCosts are those of the network-aware policy of the Firmament paper,
// section 3: a task that asks for bandwidth has arcs to machines with so much to
// spare, and each costs what it asks for and what is in use there, so that links
// fill evenly.
//
// There an aggregator for each size of request stands between tasks and machines;
// here each task has the arcs itself. In both a machine's arcs say what its link
// has to spare before the round. To be exact, a round must place one task on a
// machine at most: with [Planner.SetSlots] give each one slot more than it has
// tasks. Then no link is promised twice. With more slots more is placed in one
// round, and whoever starts the tasks has to see whether they fit.
type BandwidthCosts struct {
	// Most is how many machines a task has arcs to, at most, those that are
	// used least; less than 1 is all that fit.
	Most int
	// Wait is what a unit of time costs that a task waits, and Unscheduled is
	// added to it, as in [DataCosts].
	Wait        int32
	Unscheduled int64
}

// Arcs appends the arcs of a task that asks for so much, to be returned from
// [Config.Arcs]. A task that waits has to be asked again before a round if links
// have changed, by [Planner.UpdateTask]; one that runs stays, or is preempted.
// Costs beyond [MaxCost] stay at that. Cost: O(links), and sorting those that
// fit.
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
