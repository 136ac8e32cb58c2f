// Sim prints the experiments of the Omega paper, run on this library.
//
//	go -C bench run ./sim -experiment fig5            busyness and waits, by t_job of services
//	go -C bench run ./sim -experiment fig7 -hours 6   two-level scheduling, and its remedies
//	go -C bench run ./sim -experiment fig9 -hours 6   1 to 32 batch schedulers
//	go -C bench run ./sim -experiment fig14 -seeds 20 conflict detection and gangs
//	go -C bench run ./sim -experiment federation      many cells under global masters, beside Sparrow
//	go -C bench run ./sim -experiment rogue           what who claims too much does to others
//
// What is simulated is time, jobs and how long a decision takes. What decides is
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
// commit, so that what others commit meanwhile is a conflict. A job that is not
// placed as a whole goes to the end of its scheduler's queue a second later.
// M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, "Omega: flexible,
// scalable schedulers for large compute clusters", EuroSys 2013, sections 4 and
// 5. The rules are those of the simulator that Google published with it, which
// has no machine failures, no constraints and no preemption; unlike there, a gang
// is all tasks of a job that are left, and one that is refused changes nothing.
//
// Under two-level scheduling the schedulers are frameworks of an offers.Master on
// that cell, which takes 1 ms for an offer. A framework decides on what it had been
// offered when it began, by the same t_job and t_task, and nobody else can have that
// meanwhile; what is offered to it while it decides is for its next decision, of
// which there is one at a time. It gives back what it did not use, and wants no
// offers while it has no jobs. In Google's simulator offers are made once a second
// and of 100 CPUs or more, and a framework may decide about several at once. What
// somebody gave back is offered to others first here, whatever their shares are: so
// the master does more for the batch jobs than that of the paper.
//
// What is not there: users within a scheduler, whose jobs it takes in the order in
// which they come and not by dominant share, since a job of the paper's has no
// owner; and delay scheduling, since its tasks have no data to be near to.
//
// The runs themselves are in package simulate, what figures show in package
// experiments.
package main
