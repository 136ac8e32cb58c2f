// Sim prints the experiments of the Omega paper, run on this library.
//
//	go -C bench run ./sim -experiment fig5            busyness and waits, by t_job of services
//	go -C bench run ./sim -experiment fig7 -hours 6   two-level scheduling, and its remedies
//	go -C bench run ./sim -experiment fig9 -hours 6   1 to 32 batch schedulers
//	go -C bench run ./sim -experiment fig14 -seeds 20 conflict detection and gangs
//	go -C bench run ./sim -experiment federation      many cells under global masters, beside Sparrow
//	go -C bench run ./sim -experiment recorded -trace FILE   the same, on the jobs of a SWIM file
//	go -C bench run ./sim -experiment rogue           the effect of one that claims too much
//
// Time, jobs and the length of a decision are simulated. The decisions are those of
// the library:
//
//	 jobs, by time of submission      virtual time: one queue of events
//	       │ by class, by hash                    ▲ wake, tasks end
//	       ▼                                      │
//	┌─ loop.Loop.Step(now) ───────────────────────┴──────┐  one for each
//	│ refresh ─▶ place on snapshot ─▶ think ─▶ commit    │  scheduler
//	└──────┬──────────────────────────────────────┬──────┘
//	       ▼                                      ▼ granted, refused
//	┌─ omega.Cell ───────────────────────────────────────┐
//	│ machines, schedulers' masks, conflict detection    │──▶ metrics
//	└────────────────────────────────────────────────────┘
//
// A decision takes t_job + t_task × tasks, all of it between the refresh and the
// commit, so that commits of others meanwhile are conflicts. A job that is not
// placed as a whole goes to the end of its scheduler's queue a second later.
// M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, "Omega: flexible,
// scalable schedulers for large compute clusters", EuroSys 2013, sections 4 and
// 5. The rules are those of the simulator that Google published with it, which
// has no machine failures, no constraints and no preemption. Unlike there, a gang
// is all tasks of a job that are left, and one that is refused changes nothing.
//
// Under two-level scheduling the schedulers are frameworks of an offers.Master on
// that cell, which takes 1 ms for an offer. A framework decides on the room that it had
// been offered when it began, by the same t_job and t_task. No other framework can have
// that meanwhile. Room that is offered to it while it decides is for its next decision;
// there is one decision at a time. It gives back the room that it did not use, and wants
// no offers while it has no jobs. In Google's simulator offers are made once a second
// and of 100 CPUs or more, and a framework may decide about several at once. Here, room
// that one framework gave back is offered to others first, at any shares.
// So the master does more for the batch jobs than that of the paper.
//
// Two things are not there. One is users within a scheduler: it takes jobs in the order
// in which they come and not by dominant share, since a job of the paper's has no
// owner. The other is delay scheduling, since its tasks have no data to be near to.
//
// The runs themselves are in package simulate, the rows of the figures in package
// experiments.
package main
