// Package flow schedules on a shared cell by rounds of min-cost flow: all tasks
// are placed at once, near their data and within the shares of their jobs, and
// what others have taken in the meantime is planned again.
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
// computing clusters", SOSP 2009, by package quincy; the cell is shared as in M.
// Schwarzkopf et al., "Omega: flexible, scalable schedulers for large compute
// clusters", EuroSys 2013. Two things are added to make them fit.
//
// A plan is taken as done by the planner, but in a cell it takes time and can
// fail. A task that is told to stop keeps its room until its end is confirmed
// ([Scheduler.Stopped], [Scheduler.Done]), and whom the plan has put there waits
// for that; the round after gives the room from one to the other in one step, so
// that no other scheduler gets in between. A claim that is refused is undone in
// the planner: who waited waits, who was to move stays. Who takes over from another
// process says what runs already ([Scheduler.AddRunning]).
//
// Tasks need vectors, a plan has slots. A slot is an amount that the
// configuration names ([Config.Slot]), and a machine has as many slots for our
// tasks as fit beside what others run there. Tasks that need no more than a slot
// are planned as published, and wait for a whole one. Others have arcs only to
// machines where they fit now, beside what runs there, and are not moved once they
// run. The same goes for a while for tasks that the plan has sent to a slot which
// had no room. What is promised on a machine is checked against what it has: in a
// round no more is claimed there than fits, the rest waits for the next one.
//
// No more is planned than the limits of the cell's scheduler leave
// ([omega.Limits]). Of the tasks that wait those are planned for whom there is
// room within them: first those of jobs below their low, then those whose running
// saves most by its cheapest arc, beside waiting, then those that wait for longest;
// others wait, and are told so. Who is planned and finds no slot takes no room from
// them after one round of that. One that runs stops for one that waits if the job
// of that is below its low, or it saves less: the choice is made task by task, where
// that for slots is by the flow. A task that is to move or stop holds its room
// until its end is told, so within full limits the next claim waits for that.
//
// In a cell that never rests smaller tasks could take each hole before a larger one
// fits. So a task that has waited beyond a patience has a machine reserved in the cell, until
// those there have ended ([Config.Patience]).
//
// Rounds make progress. Of the tasks with arcs only to where they fit, the first
// that is sent to a machine is claimed there. A round in which nobody is claimed
// has turned a task into one of those, which it stays for the next round and until
// a machine has changed or a task has ended, and for as long as no machine has what
// it needs; or else the cell has refused a claim, as others have committed in
// between. So while nothing else happens and the plan sends anybody
// anywhere, a task is claimed after at most as many rounds as there are tasks, and
// whoever fits an empty cell, a slot of it where it needs no more, runs when enough
// of the others have ended.
package flow
