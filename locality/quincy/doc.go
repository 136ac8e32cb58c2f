// Package quincy decides for all tasks at once which runs where, which waits
// and which is preempted, as a flow of least cost.
//
//	          ┌──────────▶ unscheduled, of its job ──────┐
//	task ─────┼──────────▶ preferred machine ────────────┼─▶ sink
//	          └▶ cluster ─▶ rack ─▶ machine ─────────────┘
//
// The model is that of M. Isard et al., "Quincy: fair scheduling for distributed
// computing clusters", SOSP 2009. Each task is one unit of flow. What it costs to
// run on a machine is the data that would have to move there; the cost to rack
// and cluster is that of the worst machine below; waiting costs more the longer a
// task waits; a running task that moves or stops loses what it has done. Of each
// job at least E and at most F tasks run, by the capacities of the arcs. The flow
// of least cost is the plan.
//
// Give a [Planner] machines, jobs and tasks, and a function that says which arcs a
// task has: that of [DataCosts] for the paper's, or one's own, to which
// [SpreadCosts] and [BandwidthCosts] are further examples. [Planner.Plan] returns
// what has to change, [Planner.Explain] why a task is where it is.
//
// Where we differ: a task that runs keeps its arcs, so it may always be moved,
// unless the user's costs say otherwise: without an arc to wait a task is never
// preempted, as the root task of a job in the paper; with none but to where it
// runs it is not moved either. Machines have slots, where the paper's run one task
// each. The solver is not one for graphs of any shape. It treats tasks as arcs
// between locations, keeps its prices from one round to the next, and looks up
// what waiting costs when it needs to know. I. Gog et al., "Firmament: fast,
// centralized cluster scheduling at scale", OSDI 2016, made the same flow fast in
// other ways.
package quincy
