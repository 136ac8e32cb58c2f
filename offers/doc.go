// Package offers shares a cell in two levels: a master decides to whom what is
// free is offered, and frameworks decide what to run on it.
//
//	┌──────┐ free room  ┌────────┐   News: offers    ┌───────────┐
//	│ Cell ├───────────►│ Master ├──────────────────►│ Framework │
//	└─▲──▲─┘            └┬──────▲┘                   └─┬───────┬─┘
//	  │  └─ an offer is ─┘      └─ Decline: not again  │       │
//	  │     a claim of          ▲  what is contained   │       │
//	  │     the master's        │  in it, for a while ─┘       │
//	  │                         └─────── what is left ─┐       │
//	  └── Accept: tasks take the place of the claim, ──┴───────┘
//	      in one step
//
// The model is that of B. Hindman et al., "Mesos: a platform for fine-grained
// resource sharing in the data center", NSDI 2011. Here it is a client of an
// [github.com/cellsched/cellsched/omega.Cell]: an offer is a claim in the cell,
// charged to the framework that may turn it into tasks, so an accept can not
// conflict, and schedulers that commit to the same cell without asking anybody
// see what is offered as taken. Both kinds work side by side, on one truth.
//
// How pessimistic that is can be chosen, also while it runs: [Terms] say which
// machines, or how much of each, are offered while the rest is free for all, and
// whether what is offered is kept or shown to everybody at once. That offers and
// snapshots are two ends of one scale, and a scheduler that locks the whole cell
// in turn a third ([TimeBox]), is seen best where all of them run on one cell.
//
// What ten years of Mesos taught its users is settled differently. Room is
// offered when it becomes free, not at the next tick. Offers expire unless that
// is ruled out. What an accept leaves over is hidden from its framework only if
// it asks for that. Who cannot use a machine says so in advance. A framework that
// always declines does not keep room from one that needs it: see
// [Framework.Decline]. An accept that names one offer that is gone leaves the
// others as they are.
//
// Where to look:
//
//	what a framework does            register.go, news.go, accept.go, decline.go, framework.go
//	who is next                      order.go, lottery.go; and in which order they stand: role.go, member.go, line.go
//	how a round goes                 round.go, node.go, offer.go
//	which machines are of use        constraints.go; where they are few: narrow.go
//	who waits for whom, how long     filter.go, backoff.go, timers.go, span.go
//	what long tasks may hold         long.go
//	who needs all at once            request.go, gather.go
//	who has to leave                 revoke.go, and how they are chosen: prey.go; inverse.go
//	who can rely on what             guarantee.go; who shares with whom: account.go
//	which part is offered, and how   terms.go, optimistic.go; timebox.go for schedulers without offers
//	who takes over                   failover.go, fence.go
package offers
