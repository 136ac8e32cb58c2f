// Package journal keeps a cell in a journal, so that it survives its process.
//
//	           Commit, Add, …              entry
//	Scheduler ────────────────► batcher ────────────► Store
//	    ▲                                               │
//	    └── outcome ── applier ◄────────────────────────┘
//	                      │        entries, in one order
//	                      ▼
//	                  omega.Cell
//
// The journal holds operations: the changes that callers ask for, not their effects. Each
// copy of the cell applies them in the order of the [Store], with the code that runs in
// memory too. [Open] restores the last checkpoint and applies the entries behind it. A
// change is acknowledged once the store keeps its entry. Operations that arrive while an
// append is in progress go together into the next entry: one append serves many schedulers.
//
// Snapshots, searches and scores stay local and lock-free. A commit costs an append more.
//
//	event                      result
//	store is slow              commits wait, snapshots stay readable, [Cell.Lag] grows
//	context of a commit ends   omega.ErrOutcome; a commit of the same Txn again resolves it
//	store fails for good       the cell refuses all changes from then on: open it again
//	checkpoint fails           the cell goes on, [Cell.Saved] tells of it
//	process dies               allocations stay; [omega.Cell.Take] returns their scheduler's successor
//	entry is lost or altered   ErrForked, or the store's error, and no further change
//	file is damaged            ErrDamaged with the position, and nothing is opened
//	second process, one folder file.ErrLocked
//	journal of a later version ErrVersion, and nothing is written
//
// Package file has a store of files; package journaltest has tests for any store.
package journal
