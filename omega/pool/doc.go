// Package pool lets the tenants of one program share its CPU, memory, connections, or
// other scarce resources: [Tenant.Acquire] blocks until it is the tenant's turn and there
// is room.
//
//	Acquire, Request, Go
//	     │
//	     ▼           order                    place
//	┌──────────┐   ┌─────────────────────┐  ┌───────────────────┐   ┌───────┐
//	│ queue of ├──►│ drf.FairQueue:      ├─►│ first machine with├──►│ Lease │
//	│ a tenant │   │ least service for   │  │ room, near the    │   └───┬───┘
//	└──────────┘   │ its weight          │  │ data if preferred │       │
//	               └─────────▲───────────┘  └───────────────────┘       │
//	                         └────────────── Release ───────────────────┘
//
// Rules, in the order in which they apply:
//
//  1. Limits and rates are never exceeded. A tenant at one is passed over, and the others
//     lose nothing by it. The tenants of a group at one share its limit or rate by rules
//     2 to 4: by service, not by number of requests.
//  2. A tenant or group below its guarantee goes first. If it finds no room, leases of
//     others are preempted: their contexts end, and their holders release them. A holder
//     that does not is named by [Pool.Overdue], and other leases are preempted in its
//     place. Its room is never granted twice.
//  3. Tenants of a higher priority go before lower ones.
//  4. The tenant that has received the least service for its weight is next. Slot time
//     follows the weights, however many tenants there are for each slot and however long
//     their tasks run.
//  5. Within a tenant a higher priority goes first, then the earlier request. A request
//     that fits may pass requests that do not, unless the tenant is Strict.
//
// A request that fits nowhere waits for the pool's Patience. At the next turn of its
// tenant a machine is reserved for it, if it is the tenant's first request then. Older
// leases on that machine may leave too little room for it. Until they end, other requests
// may use the rest of the machine. The request starts within the longest remaining time
// of such a lease plus the longest time of a lease that was granted there since.
//
// A pool is one mutex around its books, held for the length of a decision. Programs with
// schedulers that must not wait for each other use package omega.
//
// # On a cell
//
// A pool may share the machines of a cell with other schedulers, pools in other parts of
// the program included: see Config.Cell. The rules above hold within the room that the
// pool has. Where the schedulers compete, those of the cell hold:
//
//   - Precedence, which is the class of a tenant or of its outermost group.
//   - The line of [omega.Scheduler.Wait], while a request finds no room.
//   - A reservation in the cell, for a request that has waited beyond its patience.
//
// A guarantee takes room back from leases of the pool alone.
//
// # Replicas
//
// A service of several processes has a pool in each, on one cell in a journal that they share:
//
//	cell, err := journal.Open(ctx, store, journal.Config{First: first, TTL: 10 * time.Second})
//	s, err := cell.Ephemeral(ctx, "service", omega.Limits{Divisible: true})
//	board, err := cell.Board(ctx, "service")
//	p, err := pool.New(pool.Config{Cell: cell.Cell, Scheduler: s, Replicas: board, Tenants: tenants})
//
// Each pool tells the others what its tenants use, and which requests lack room. Then these
// rules hold over all processes:
//
//   - Limits are never exceeded, at no moment. Each pool takes parts of a limit, for a few leases
//     at a time, and gives them back where others ask.
//   - A request leaves its room to a request in another process that goes before it: by class,
//     by guarantee, or by the dominant share that its tenant held of late for its weight.
//     Requests of one tenant take turns by what each process holds of it. Within a step room stays
//     where it is: Chunk leases, or less where there is little.
//   - Room is kept for a request elsewhere for the Patience of the pool, or one second, at most.
//   - The leases of a process that has died come back within the TTL and a second. A process
//     that was away for so long finds the contexts of its leases ended.
//
// Rates are of each process: a tenant's Rate is to be divided among them. A guarantee counts the
// use in all processes, and takes room back from leases of its own process alone. A note of
// what changed is an entry of the journal, at most one in 10 ms. Where no tenant waits anywhere,
// there is one in a second at most, but for a change of a Chunk.
//
// # Idle tenants
//
// A tenant that was idle for an hour may at once take the room that is free, up to its
// limit, and the Burst of its rate. It has no claim to more. Service counts only while
// tenants wait, and a tenant that begins to wait starts at the service of the one that is
// served at that moment. From then on it gets its share by weight, within the bound of
// [drf.FairQueue]. In the same way a tenant that was alone in the pool owes nothing for
// that time. Room that it holds comes back when its leases are released, or at once for a
// guarantee.
//
// # Deadlock
//
// A goroutine that holds a lease and waits for another may wait for itself, or two may
// wait for each other. Take all in one [Tenant.Request], which holds nothing while it
// waits. A request with [Lease.Context], or the context of a task, that could only be
// granted by releasing that lease is refused with [ErrNested].
//
// The order is that of P. Goyal, H. Vin, H. Cheng, "Start-time fair queueing", SIGCOMM
// 1996, over several resources (A. Ghodsi et al., "Dominant resource fairness", NSDI
// 2011; "Multi-resource fair queueing", SIGCOMM 2012). Waiting for data is delay
// scheduling (M. Zaharia et al., EuroSys 2010). Reservations with backfill are those of
// batch systems (D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995).
package pool
