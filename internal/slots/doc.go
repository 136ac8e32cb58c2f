// Package slots assigns unit tasks to slots at least cost. The problem is a min-cost flow
// in which most nodes are tasks without arcs into them.
//
//	          ┌──────────▶ leaf (unscheduled, of a job) ─┐
//	task ─────┼──────────▶ leaf (machine) ───────────────┼─▶ sink
//	          └▶ group ───▶ group ───▶ leaf ─────────────┘
//	            (cluster)   (rack)
//
// Only arcs out of tasks have a cost. Groups form trees with arcs that hold as much as
// their leaves can take. A leaf keeps some units to itself, its demand, and passes up to
// its capacity on to the sink.
//
// Tasks are no nodes here. A task that sits at one location and could sit at another is
// an arc between the two, so that shortest paths run over locations only. The method is
// primal-dual:
//
//   - Each location has a price, the cost of getting from there to the sink.
//   - Units move only along arcs of reduced cost 0.
//   - When none are left, one search runs backwards from all locations in need. It gives
//     every task without a place its shortest path at once. It changes the prices so that
//     these paths have reduced cost 0.
//   - Where many locations are in need, searches the other way round take turns with
//     these.
//
// A round goes on from the last one's prices. First come what takes no search: leaves at
// the top send away the tasks that they have too many of (evict) or call some back
// (recall), and the tasks that came sit down where others left. A round that looks at
// about as many arcs as the last auction took, searches included, begins again with an
// auction, and so do the next ones of its size for a while (effort).
//
// A net in which few tasks have a place begins with an auction. It leaves a handful of
// searches, while guessed prices left up to a hundred. These were tried before, on 2,500
// machines:
//
//   - warm prices, as if all slots were alike: up to 20 times as slow where tasks prefer the
//     same few machines;
//   - a rise for every bid, not only for ties: 1,000 tasks are left to searches, not 0;
//   - a fixed least rise: 1/150 of the mean difference of costs leaves twice as many
//     tasks as 1/1,000, and 1/10,000 takes three times as many bids;
//   - an auction for each round of 1 %: up to 1.5 times as long as searches from the last
//     prices, as 6 of the 8 looks at every arc from scratch are the auction's;
//   - to fill free slots before tasks that came are seated: ten times the looks where many
//     prefer the machines of a few racks;
//   - to ignore units that a group and a leaf have in common: where running tasks prefer
//     their place by little, bids do not end within the budget;
//   - prices at which some task of each machine is about to leave: the next round looks
//     at all tasks when time passes.
//
// Invariant, between any two steps of a Solve:
//
//  1. No arc with room has a negative reduced cost, but for those out of tasks without a
//     place. When costs or prices have changed all at once, those out of tasks not looked
//     at since are exempt, too.
//  2. The excess of a location is its inflow less its outflow and the units that it
//     keeps.
//  3. All excesses and the tasks without a place add up to 0.
//
// When no excess and no such task is left, the cost is least, as Verify proves. So a
// Solve that is stopped leaves nothing to repair.
package slots
