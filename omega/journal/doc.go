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
//	store fails for now        the same, and [Cell.Stall] returns the store's error: its disk is full
//	change is too large        [ErrSize]: the change was not made, others are
//	context of a commit ends   omega.ErrOutcome; a commit of the same Txn again resolves it
//	store fails for good       the cell refuses all changes from then on: open it again
//	checkpoint fails           the cell goes on, [Cell.Saved] tells of it
//	process dies               allocations stay; [omega.Cell.Take] returns their scheduler's successor
//	                           those of [Cell.Ephemeral] are released when its session expires
//	process is away for a TTL  ErrExpired: what was in flight was not made, open it again
//	entry is lost or altered   ErrForked, or the store's error, and no further change
//	file is damaged            ErrDamaged with the position, and nothing is opened
//	second process, one folder file.ErrLocked
//	journal of a later version ErrVersion, and nothing is written
//
// # Sessions
//
// [Open] begins a session. With a TTL in its [Config] the session ends if the process is
// silent for that long, and with it the schedulers of [Cell.Ephemeral]. The order of the
// journal decides: another process proposes to end the session that has written nothing
// since its entry n, and the proposal holds only if n is its last entry still. No clock is
// compared with another one. A process that heard nothing of itself for two thirds of its TTL
// proposes nothing: where the store is away, no session ends.
//
// Other systems that the work of a process changes do not see its session. They need a number
// that rises, and refuse a lower one than they have seen:
//
//   - for allocations that stay, [omega.Scheduler.Epoch], by the name of the scheduler;
//   - for those of [Cell.Ephemeral], [Cell.Position], read after the commit that granted them.
//
// # Boards
//
// A [Board] is soft state in the journal: what each process uses and waits for, by key. It ends
// with the sessions of the processes that wrote it. A note that raises a bounded amount holds
// only if the sum of all processes stays within the bound, in the order of the journal. So a
// limit over all processes is kept without a lock: each process takes a part of it, uses it
// up, and takes the next.
//
// # Which store
//
//	one process, nothing kept   a cell of package omega alone: commits take no append
//	one process, kept           package file: an fdatasync for each entry
//	processes, PostgreSQL       package postgres: a statement for each entry, and polling
//	processes, etcd             package etcd: a transaction for each entry, and a watch
//	replicas with one limit     package pool with Config.Replicas, over either of the two above
//	beyond the rate of one log  package federation, over a cell for each part of the machines
//
// A commit is linearizable over all processes in the third and fourth row. A snapshot is as
// stale as [Cell.Position] is behind, and [Cell.Sync] makes it fresh. Each process holds the
// whole cell and applies each entry. bench/README.md in the repository has measurements.
//
// Package file has a store of files; package journaltest has tests for any store.
package journal
