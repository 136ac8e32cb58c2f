// Package slots assigns unit tasks to slots at least cost: a min-cost flow in
// which most nodes are tasks that nothing flows into.
//
//	          ┌──────────▶ leaf (unscheduled, of a job) ─┐
//	task ─────┼──────────▶ leaf (machine) ───────────────┼─▶ sink
//	          └▶ group ───▶ group ───▶ leaf ─────────────┘
//	            (cluster)   (rack)
//
// Only arcs out of tasks have a cost. Groups form trees whose arcs hold
// whatever their leaves can take. A leaf keeps some units to itself, its
// demand, and passes up to its capacity on to the sink.
//
// Tasks are no nodes here. A task that sits at one location and could sit at
// another is an arc between the two, so that shortest paths run over locations
// only. The method is primal-dual: with each location goes a price, the cost
// of getting from there to the sink; units move only along arcs of reduced cost
// 0; when none are left, one search from all locations in need, backwards, gives
// every task without a place its shortest way at once, and changes the prices
// so that these ways have reduced cost 0. Where many locations are in need,
// searches the other way round take turns with these.
//
// A net in which few tasks have a place begins with an auction, which leaves a
// handful of searches where prices that were guessed left up to a hundred. These
// were tried before, on 2,500 machines:
//
//   - a guess as if all slots were alike: up to 20 times as slow where tasks prefer the
//     same few machines;
//   - a rise for every bid, not only for ties: 1,000 tasks are left to searches, not 0;
//   - a fixed least rise: 1/150 of the mean difference of costs leaves twice as many
//     tasks as 1/1,000, and 1/10,000 takes three times as many bids;
//   - to ignore what a group and a leaf have in common: where running tasks prefer
//     their place by little, bids do not come to an end within the budget;
//   - prices at which some task of each machine is about to leave: the next round
//     looks at all tasks when time passes.
//
// Between any two steps of a Solve, no arc with room has a negative reduced cost,
// those out of tasks without a place aside, and when costs or prices have changed
// all at once, those out of tasks not looked at since; the excess of a location is what comes
// in less what goes out and what it keeps; all excesses and the tasks without a
// place add up to 0. When no excess and no such task is left, the cost is least,
// as Verify proves. So a Solve that is stopped leaves nothing to repair.
package slots
