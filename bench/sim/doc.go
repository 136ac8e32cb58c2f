// Sim prints the experiments of the Omega paper, run on this library.
//
//	go run ./bench/sim -experiment fig5            busyness and waits, by t_job of services
//	go run ./bench/sim -experiment fig9 -hours 6   1 to 32 batch schedulers
//	go run ./bench/sim -experiment fig14 -seeds 20 conflict detection and gangs
//	go run ./bench/sim -experiment rogue           what who claims too much does to others
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
// What is not there: users within a scheduler, whose jobs it takes in the order in
// which they come and not by dominant share, since a job of the paper's has no
// owner; delay scheduling, since its tasks have no data to be near to; and the
// share of a cell that is locked, since none of these architectures locks any of
// it, and the two-level one that does is not among them.
//
// The runs themselves are in package simulate, what figures show in package
// experiments.
package main
