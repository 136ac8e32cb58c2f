// Package pool lets the tenants of one program share its CPU, memory,
// connections, or whatever else is scarce: an [Pool.Acquire] blocks until it
// is the tenant's turn and there is room.
//
//	Acquire(ctx, tenant, need, near…)
//	   │
//	   ▼          who is next?         where?                      may I?
//	┌───────┐   ┌──────────────┐   ┌────────────────────┐   ┌──────────────────┐   ┌───────┐
//	│ queue ├──►│ drf: poorest ├──►│ first fit, near    ├──►│ commit to the    ├──►│ Lease │
//	│ a     │   │ tenant whose │   │ its data for as    │   │ omega cell of    │   └───┬───┘
//	│ tenant│   │ need fits    │   │ long as delay says │   │ the pool         │       │
//	└───────┘   └──────▲───────┘   └────────────────────┘   └──────────────────┘       │
//	                   └───────────────────────── Release ─────────────────────────────┘
//
// It wires together the small packages of this module, as a program could do
// itself: fairness is dominant resource fairness (Ghodsi et al., NSDI 2011),
// waiting for data is delay scheduling (Zaharia et al., EuroSys 2010), and
// what is allocated is kept in a cell as of Omega (Schwarzkopf et al., EuroSys
// 2013). A pool is one scheduler behind one mutex, held for the length of a
// decision: programs whose schedulers must not wait for each other use the
// cell itself.
//
// Rules, in the order in which they apply:
//
//   - Of the tenants that wait, the one with the smallest weighted dominant
//     share is next, among equals the one that was served longest ago. A
//     tenant's own waiters are served in the order in which they came.
//   - If what it waits for fits nowhere, room is kept back for it on the machine
//     that is nearest to having enough: richer tenants use what is left there,
//     and the others. So large needs do not starve beside small ones, which
//     always fit.
//   - A waiter that prefers machines it cannot have yet waits for them as long
//     as the pool's [delay.Policy] says. Meanwhile its tenant gives its turn
//     away, and waiters of the same tenant with the same need may go first.
//
// Holding a lease while waiting for another can deadlock: two goroutines that
// each hold half of the pool and wait for the other half wait for ever, or
// until their contexts end. Take everything in one [Pool.AcquireAll], which
// holds nothing while it waits.
package pool
