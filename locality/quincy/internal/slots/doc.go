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
// Between any two steps of a Solve, no arc with room has a negative reduced cost,
// those out of tasks without a place aside, and when costs or prices have changed
// all at once, those out of tasks not looked at since; the excess of a location is what comes
// in less what goes out and what it keeps; all excesses and the tasks without a
// place add up to 0. When no excess and no such task is left, the cost is least,
// as Verify proves. So a Solve that is stopped leaves nothing to repair.
package slots
