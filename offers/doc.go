// Package offers shares a cell in two levels. A master decides which framework is offered
// free room. The framework decides which tasks to run on it.
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
// The model is that of B. Hindman et al., "Mesos: a platform for fine-grained resource
// sharing in the data center", NSDI 2011. Here it is a client of an
// [github.com/cellsched/cellsched/omega.Cell]. An offer is a claim in the cell, charged
// to the framework that may turn it into tasks. So an accept cannot conflict, and
// schedulers that commit to the same cell see the offered room as taken.
//
// [Terms] set how pessimistic that is, and can change at run time. They state which
// machines, or how much of each, are offered, while the rest is free for all. They also
// state whether offered room is kept for one framework or shown to all at once. A
// scheduler that locks the whole cell in turn is a [TimeBox].
//
// Differences from Mesos:
//
//   - Room is offered when it becomes free, not at the next tick.
//   - Offers expire unless that is ruled out.
//   - What an accept leaves over is hidden from its framework only on request.
//   - A framework states in advance which machines it cannot use.
//   - A framework that always declines keeps no room from one that needs it: see
//     [Framework.Decline].
//   - An accept that names one offer that is gone leaves the others as they are.
//
// Components of a master, from the bottom up, and their files:
//
//	cell, clock, lock, fence          client, fence
//	frameworks, news                  registry, membership, inbox, news
//	accounts, roles and their order   account, queue, shares, order, lottery; internal/line
//	machines, filters, constraints    floor, node, selective, filter, constraints
//	tasks without end                 caps
//	offers and their timers           ledger, offer, terms, optimistic; internal/timers
//	accepts                           planner, accepts, accept, launch
//	guarantees, victims               guarantee, revoke, victims
//	gangs                             requests, gangs
//	rounds                            rounds, step
//	sessions and failover             sessions, register, liveness, departure, failover
package offers
