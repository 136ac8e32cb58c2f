// Package drf says who is next when users with unlike appetites share several
// kinds of resource: the user who holds the least of what it holds most of.
//
//	Demand ──▶┌───────────────┐   Pick(free)    ┌─────────────────┐
//	Park   ──▶│     Heap      ├────────────────▶│ caller starts a │
//	          │ least weighted│  user, or none  │ task of the user│
//	          │ dominant share│                 └───┬─────────┬───┘
//	          │  that fits    │◀────── Charge ──────┘         │ task ends
//	          └──────▲────────┘                               │
//	                 └────────────────── Credit ──────────────┘
//
// A user's dominant share is the largest fraction it holds of any one resource
// of the cell, divided by its weight. Giving the next task to the user in whom
// it is smallest evens these shares out, which leaves nobody worse off than
// with a fixed slice of everything. The rule is that of A. Ghodsi et al.,
// "Dominant resource fairness: fair allocation of multiple resource types",
// NSDI 2011. There, filling ends when the poorest user's task does not fit;
// here the poorest whose task does fit is next, so that the rest of the cell
// is not left idle, and who is passed over too often has room held back: see
// [Heap.SetPatience].
//
// Where to look, by what is asked:
//
//	who is next, task by task           Heap: heap.go, pick.go, turn.go
//	the same on machines of any size    Heap.PickWhere, Heap.SetMachines
//	may I take, with nobody in charge   Gate: gate.go, seat.go, hold.go
//	who gets how much in the end        Fill, whole tasks; Divide, parts of tasks
//	whose task ends for whom            Preempt
//	how even was it                     Audit, Envies
//	how the order is kept               tree.go, share.go, pick.go
//
// Trees of pools are in package drf/pools.
package drf
