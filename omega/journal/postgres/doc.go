// Package postgres keeps a journal in PostgreSQL, for many processes at a time.
//
//	cellsched_journal     a row a journal: its name, the position of its last entry
//	cellsched_entry       the entries
//	cellsched_checkpoint  the last checkpoint, in parts of 1 MiB
//
// Each process opens the journal of the same name and has a copy of the cell. An append is one
// statement and one commit. The lock of the journal's row brings the appends of all
// processes into one order. Appends do not overlap: a commit of the database, with its sync, bounds
// how many there are in a second. The operations that arrive meanwhile share the next one.
//
//	event                              result
//	the database is slow               commits wait, snapshots stay readable
//	the database is gone, or read-only the same, and the journal tries again, each second at most
//	the database is silent             the same, by another connection after 3 s
//	it failed over, nothing lost       the journal goes on
//	it failed over to an older copy    [journal.ErrForked] in each process that has applied more or
//	                                   was acknowledged more; it adds nothing to that copy
//	the journal's rows are deleted,
//	the pool is closed                 [journal.ErrFailed]
//	a process is over a minute behind
//	a checkpoint                       [journal.ErrTrimmed]: open the cell again
//
// A walk polls. It finds the entries of its own process at once, with those of others before them. Others
// it finds after 5 ms where there is traffic, else after 100 ms. A checkpoint deletes the entries
// before it that are older than a minute.
//
// The pool needs two connections at least: a checkpoint has one while it is written or read. Of the
// others each call has one for the time of a statement.
//
// A statement without an answer is given up after 3 s, and its connection is closed. One that writes a
// checkpoint has a minute. An append is then sent again, with twice the time for each further try, up
// to a minute. The pool needs a connect_timeout of a few seconds: a connection that is being made to a
// server that is silent takes one of the pool's places until then.
//
// The package works through poolers that give each transaction another server. It uses
// statements without names, and no state of a session: no SET, LISTEN or advisory lock of a
// session. Its statements need the isolation level READ COMMITTED, which is PostgreSQL's default.
// The database must keep what it has acknowledged: synchronous_commit may not be off, and a
// standby that takes over must be a synchronous one. The pool must lead to the primary:
// target_session_attrs=read-write. A walk on a standby that is late has an error and is tried again.
//
// # Limits
//
//   - A process that is over a minute behind a checkpoint is cut off: open the cell again.
//   - Long transactions of other programs slow the appends: they keep old versions of the journal's row.
package postgres
