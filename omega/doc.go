// Package omega lets many schedulers place work on one shared cell without
// locking each other out.
//
//	           Snapshot                    Txn               Commit
//	┌──────┐   Refresh   ┌───────────┐    claims    ┌─────────────┐  granted: an AllocationID
//	│ Cell ├────────────►│ Scheduler ├─────────────►│ still fits? ├──────────────────────────►
//	└─▲──┬─┘             └──▲────▲───┘   releases,  └──┬───────┬──┘
//	  │  │ Marked: preempted│    │       exchanges     │       │ swap of the machine's word
//	  │  └──────────────────┘    └── refused: again ───┘       │
//	  └────────────────────────────────────────────────────────┘
//
// Each [Scheduler] places on a private [Snapshot] of the cell ([Snapshot.Find],
// [Snapshot.Place]) and then commits a [Txn]. A claim that no longer fits is a conflict:
// it is refused with the need and the free room, and the scheduler places it again. A gang
// is granted all or not at all, over any number of machines.
//
// The model is that of M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, "Omega:
// flexible, scalable schedulers for large compute clusters", EuroSys 2013. Unlike there,
// the cell lives in one process, a conflict is found machine by machine, and a gang is
// decided by one atomic step.
//
// Schedulers share the machines and one scale of [Precedence]: a claim may name victims of
// lower precedence, and takes their place. The [Limits] of a scheduler are enforced at its
// commits. Order, placement and fairness are each scheduler's own; [Cell.Usage] of the
// accounts that claims are charged to lets fairness span the cell. A [Reservation] keeps
// room for a need that fits nowhere yet.
//
// A machine is an atomic pointer to an immutable version of its state. A commit to one
// machine is one compare-and-swap, and a gang is a k-word compare-and-swap: a commit that
// meets an undecided gang decides it first. On every machine and at every moment, free room
// plus allocated room is the capacity. Commits are lock-free but for three cases, which take
// a short mutex: a commit charges an account for the first time, wakes schedulers that wait
// or whose allocations it preempts, or begins or ends a reservation.
//
// A snapshot is true machine by machine; so is a walk over machines or allocations.
// [Cell.Cut] takes a consistent state of the whole cell, and [Cell.Save] keeps one.
//
// Where to look:
//
//	scheduling               scheduler.go, txn.go, preempt.go, divide.go, mark.go, wait.go, leave.go
//	reservations, succession reservation.go, reserved.go, line.go; succession.go
//	commit                   commit.go; plain.go, else in this order prepare.go, grant.go, finish.go
//	snapshot and search      snapshot.go, refresh.go, place.go, index.go, explain.go; package score
//	journals                 journal.go, operation.go, encode.go, decode.go
//	operation                cell.go, fleet.go, limits.go, account.go, cut.go, save.go, check.go
//	machine state            machine.go, live.go, record.go, slot.go, gang.go; internal/reclaim
package omega
