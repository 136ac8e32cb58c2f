// Package drf implements Dominant Resource Fairness: a queue of users ordered by
// weighted dominant share.
//
//	Demand ──▶┌───────────────┐   Pick(free)    ┌─────────────────┐
//	Park   ──▶│     Heap      ├────────────────▶│ caller starts a │
//	          │ least weighted│  user, or none  │ task of the user│
//	          │ dominant share│                 └───┬─────────┬───┘
//	          │  that fits    │◀────── Charge ──────┘         │ task ends
//	          └──────▲────────┘                               │
//	                 └────────────────── Credit ──────────────┘
//
// A user's dominant share is the largest fraction it holds of any one resource of
// the cell, divided by its weight. The next task goes to the user with the smallest
// share, which evens the shares out. No user is then worse off than with a fixed
// slice of everything. The rule is that of A. Ghodsi et al., "Dominant resource
// fairness: fair allocation of multiple resource types", NSDI 2011.
//
// One difference: in the paper, filling ends when the poorest user's task does not
// fit. Here the poorest user with a task that fits is next, so that the rest of the
// cell is not left idle. [Heap.Overdue] names a user that is passed over too often, so
// that the caller reserves room for it.
//
// Where to look, by question:
//
//	which user is next, task by task      Heap: heap.go, pick.go, skips.go
//	the same on machines of any size      Heap.PickWhere, Heap.SetMachines
//	fair slot time, groups, guarantees    FairQueue: fairqueue.go, fairqueue_run.go
//	how the order is kept                 tree.go, share.go, pick.go
//	fairness with no central scheduler    package drf/gate
//	final allocations, audits, envy       package drf/allot
//	trees of pools                        package drf/pools
package drf
