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
//     share is served first, if what it waits for fits somewhere; else the
//     next. A tenant's own waiters are served in the order in which they came.
//   - A waiter that prefers machines it cannot have yet waits for them as long
//     as the pool's [delay.Policy] says. Meanwhile its tenant gives its turn
//     away, and waiters of the same tenant with the same need may go first.
//   - Large needs do not starve: when the tenant whose turn it is has been
//     passed over [Config.PassLimit] times because its need fitted nowhere, room is
//     held back for it until it fits.
//
// Holding a lease while waiting for another can deadlock: two goroutines that
// each hold half of the pool and wait for the other half wait for ever, or
// until their contexts end. Take everything in one [Pool.AcquireAll], which
// holds nothing while it waits.
package pool
