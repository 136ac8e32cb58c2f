// Package pools says which job is next in a tree of pools that share several
// kinds of resource, what each pool is due, who has waited for that, and which
// tasks to stop for it.
//
//	              root             Pick(free) walks down: in each pool to
//	            ╱      ╲           the child that is first in its order
//	     research      production  of those in which something fits
//	     DRF │ min 0   FIFO │ min 30 %
//	    ╱    │    ╲         │   ╲
//	  ana   ben   cy       web  etl      jobs: whoever has tasks
//
//	Demand, Park ──▶┌──────┐ Pick, Take ──▶ caller starts a task of the job
//	Charge, Credit ▶│ Tree │
//	                └──┬───┘
//	                   │ Standings ──▶ Hunger: who is starved, since when
//	                   └─────────────▶ Preempt: which tasks to stop
//
// Children of a pool without an order of its own are shared by hierarchical
// DRF: A. A. Bhattacharya et al., "Hierarchical scheduling for diverse
// datacenter workloads", SoCC 2013. The share of a pool is not what its leaves
// hold in sum: that would starve a leaf whose sibling holds much of a kind that
// nobody else wants. What leaves hold that can go on counts as if all of them
// had come as far as the poorest, and kinds that are used up do not count. In
// the paper a leaf is blocked when a kind that it needs is used up, or it wants
// nothing more; tasks are divisible there. Here tasks are whole, and a job is
// blocked when its next task does not fit, under the max shares of the pools
// that it is in too: what cannot be started is of no more use for being nearly
// enough. Jobs that hold nothing go first, and are left out of the poorest.
//
// Min shares, max shares, orders by pool and the times after which somebody is
// starved are those of the Hadoop Fair Scheduler (M. Zaharia et al., UC Berkeley
// EECS-2009-55, and the scheduler's documentation). A child below its min share
// goes before all that are not. What a pool does not use, others borrow, and
// it comes back as their tasks end, or at once where tasks are stopped.
//
// What the tree keeps for hierarchical DRF is M*S + B for each pool, where the
// definition would visit all jobs after each task: see consume in hdrf.go.
//
// A large task that never finds enough room free at once is not waited for
// here, unlike in [github.com/cellsched/cellsched/drf.Heap]: Hunger tells who is
// starved, and [Preempt] says how to make room.
//
// Where to look, by what is asked:
//
//	who is next                    Tree: pick.go, job.go
//	who is in which pool           tree.go, settings.go, view.go
//	in which order                 Order: order.go
//	what is due to whom            Standings: standing.go, turns.go, water.go, wide.go
//	who is starved since when      Hunger: starved.go
//	whose turn it would be         First: first.go
//	which tasks to stop for it     Preempt: plan.go, branch.go, stop.go
//	who held how much over time    Tally: tally.go
//	how shares are kept            hdrf.go, direction.go, contest.go, group.go
//	how shares are compared        exact.go, residue.go, precise.go
//	what fits below which limit    fit.go
package pools
