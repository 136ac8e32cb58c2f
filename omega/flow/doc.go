// Package flow schedules on a shared cell by rounds of min-cost flow. Each round places
// all tasks at once, near their data and within the shares of their jobs. Claims that
// others' commits have refused are planned again.
//
//	┌──────┐ what has changed  ┌───────────┐  slots   ┌────────────────┐
//	│ Cell ├──────────────────►│ Scheduler ├─────────►│ quincy.Planner │
//	└──▲───┘                   │   Round   │◄─────────┤                │
//	   │                       └─┬──▲───┬──┘  changes └───────▲────────┘
//	   └── one Txn: releases ────┘  │   │                     │
//	       and claims               │   └── refused, lost, ───┘
//	                                │       preempted by others
//	      Start, Stop ◄── Report ───┴── Stopped, Done
//
// The model is that of M. Isard et al., "Quincy: fair scheduling for distributed
// computing clusters", SOSP 2009, by package quincy. The cell is shared as in M.
// Schwarzkopf et al., "Omega: flexible, scalable schedulers for large compute clusters",
// EuroSys 2013. Two things are added to make them fit: changes that take time or fail,
// and needs that are vectors.
//
// # Changes take time
//
// The planner takes a plan as done, but in a cell it takes time and can fail. A task that
// is told to stop keeps its room until its end is confirmed ([Scheduler.Stopped],
// [Scheduler.Done]). The task that the plan has put there waits for that. The round after
// the end gives the room from one to the other in one step, so that no other scheduler
// gets in between. A refused claim is undone in the planner: a task that waited waits, a
// task that was to move stays. A scheduler that takes over from another process adds the
// tasks that run already ([Scheduler.AddRunning]).
//
// # Slots
//
// Tasks need vectors, a plan has slots. A slot is an amount that the configuration names
// ([Config.Slot]). The scheduler's slots on a machine are the ones that fit beside the
// allocations of others. A task that needs no more than a slot is planned as published,
// and waits for a whole one. A larger task has arcs only to machines where it fits now,
// beside the tasks there, and is not moved once it runs. The same goes for a while for a
// task that the plan has sent to a slot without the room. Promises on a machine are
// checked against its room: a round claims no more there than fits, and the rest waits
// for the next round.
//
// # Limits
//
// A plan stays within the room that the limits of the cell's scheduler leave
// ([omega.Limits]). Waiting tasks are admitted to the plan in this order, as far as there
// is room:
//
//  1. tasks of jobs below their minimum;
//  2. tasks that save most by running: the cost to wait less the cost of the cheapest
//     arc;
//  3. tasks that have waited for longest.
//
// The others wait, and their [Explanation] names the limit. A task that was admitted and
// got no slot takes no room from others after one such round. A running task stops for a
// waiting one if the waiting job is below its minimum, or if the running task saves less.
// This choice is made task by task, while slots are assigned by the flow. A task that is
// to move or stop holds its room until its end is told, so within full limits the next
// claim waits for that.
//
// # Patience
//
// In a cell that never rests, smaller tasks could take each hole before a larger one
// fits. So a task that has waited beyond a patience has a machine reserved in the cell,
// until the allocations there have ended ([Config.Patience]).
//
// # Progress
//
// While nothing else happens and the plan sends any task anywhere, a task is claimed
// after at most as many rounds as there are tasks. A task runs, when enough of the others
// have ended, if it fits an empty cell: with a slot where it needs no more. The proof is
// beside the method retarget.
package flow
