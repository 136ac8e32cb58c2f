// Package quincy places all tasks at once by a min-cost flow: it decides which task runs
// on which machine, which waits and which is preempted.
//
//	          ┌──────────▶ unscheduled, of its job ──────┐
//	task ─────┼──────────▶ preferred machine ────────────┼─▶ sink
//	          └▶ cluster ─▶ rack ─▶ machine ─────────────┘
//
// The model is that of M. Isard et al., "Quincy: fair scheduling for distributed
// computing clusters", SOSP 2009. Each task is one unit of flow, and the flow of least
// cost is the plan. Arcs have these costs:
//
//   - to a machine, the data that would have to move there;
//   - to a rack and the cluster, the cost of the worst machine below;
//   - to wait, a cost that grows with the time waited;
//   - for a running task to move or stop, its lost work.
//
// At least E and at most F tasks of each job run. The capacities of the arcs enforce
// this.
//
// A [Planner] takes machines, jobs and tasks, and a function that returns the arcs of a
// task. [DataCosts] has the paper's. The examples of [New] have two further models to copy:
// for tasks that spread out, and for networks. [Planner.Plan] returns the changes, and [Planner.Explain] the reasons for a
// task's place.
//
// Differences from the paper: a running task keeps its arcs, so it may always be moved.
// A task without an arc to wait is never preempted, as the root task of a job in the
// paper. A task with no arc but to its machine is not moved either. Machines have slots,
// where the paper's run one task each. The solver is not one for graphs of any shape. It
// treats tasks as arcs between locations, and keeps its prices from one round to the
// next. It computes the cost of waiting when needed. I. Gog et al., "Firmament: fast,
// centralized cluster scheduling at scale", OSDI 2016, made the same flow fast in
// other ways.
package quincy
