// Package pools implements hierarchical fair sharing: a tree of pools that picks
// the next job, computes fair shares, detects starvation and plans preemptions.
//
//	              root             Pick(free) walks down: in each pool to
//	            ╱      ╲           the child that is first in its order
//	     research      production  of those in which a task fits
//	     DRF │ min 0   FIFO │ min 30 %
//	    ╱    │    ╲         │   ╲
//	  ana   ben   cy       web  etl      jobs: anything with tasks
//
//	Demand, Park ──▶┌──────┐ Pick, Take ──▶ caller starts a task of the job
//	Charge, Credit ▶│ Tree │
//	                └──┬───┘
//	                   │ Standings ──▶ Hunger: starved nodes, since when
//	                   └─────────────▶ Preempt: tasks that may be stopped
//
// The children of a pool without an [Order] are shared by hierarchical DRF: A. A.
// Bhattacharya et al., "Hierarchical scheduling for diverse datacenter workloads",
// SoCC 2013. The share of a pool is not the plain sum of its leaves. The sum would
// starve a leaf with a sibling that holds much of a kind that no other pool wants.
// Instead, leaves that can go on count as if all had the share of the poorest.
// Used-up kinds do not count.
//
// One difference: in the paper tasks are divisible, and a leaf is blocked when a
// kind that it needs is used up or it wants nothing more. Here tasks are whole. A
// job is blocked when its next task does not fit, also under the max shares of its
// pools. Jobs that hold nothing go first, and do not count as the poorest.
//
// Min shares, max shares, orders by pool and starvation times are those of the
// Hadoop Fair Scheduler (M. Zaharia et al., UC Berkeley EECS-2009-55, and the
// scheduler's documentation). A child below its min share goes before all that are
// not. The unused share of a pool is lent to the others. It comes back as their
// tasks end, or at once by preemption.
//
// No room is reserved for a large task, unlike in
// [github.com/cellsched/cellsched/drf.Heap]: Hunger names the starved, and
// [Preempt] ranks victims, among which omega.ChooseVictims chooses.
//
// Where to look, by question:
//
//	which job is next              Tree: pick.go, job.go
//	the nodes of the tree          tree.go, settings.go, view.go
//	orders of a pool               Order: order.go
//	fair shares                    Standings: standing.go, rounds.go, water.go, mass.go
//	starved nodes, since when      Hunger: starved.go
//	the job to preempt for         First: first.go
//	tasks to stop                  Preempt: plan.go, branch.go
//	usage over time                Tally: tally.go
//	how shares are kept            hdrf.go, direction.go, contest.go, group.go
//	how shares are compared        exact.go, residue.go, precise.go
//	limits                         fit.go
package pools
