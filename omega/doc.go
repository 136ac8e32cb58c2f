// Package omega lets many schedulers place work on one shared cell without
// locking each other out.
//
//	           Snapshot            Txn              Commit
//	┌──────┐   Refresh   ┌───────────┐   claims   ┌─────────────┐  granted: an AllocationID
//	│ Cell ├────────────►│ Scheduler ├───────────►│ still fits? ├──────────────────────────►
//	└──▲───┘             └─────▲─────┘  releases  └──┬───────┬──┘
//	   │                       └── refused: again ───┘       │ swap of the machine's word
//	   └─────────────────────────────────────────────────────┘
//
// Each [Scheduler] places on a private [Snapshot] of the cell and then commits
// a [Txn]. A claim that no longer fits is a conflict: it is refused, with what
// was needed and what was free, and the scheduler places it again. Claims of a
// gang are granted all or not at all, over any number of machines. The model
// is that of M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes,
// "Omega: flexible, scalable schedulers for large compute clusters", EuroSys
// 2013. Unlike there, the cell lives in one process, a conflict is found
// machine by machine, and a gang is decided by one atomic step.
//
// Nothing here takes a lock on the way of a commit. A machine is one word: an
// atomic pointer to an immutable version of its state, so a commit to one
// machine is one compare-and-swap, and a gang is a k-word compare-and-swap with
// helping. A scheduler that stalls, wherever it stalls, keeps nobody else from
// committing. What always holds, on every machine and at every moment: what is
// free plus what is allocated is the capacity.
//
// A snapshot is true machine by machine. It is not one moment of the whole
// cell; nor is a walk over its machines or allocations.
package omega
