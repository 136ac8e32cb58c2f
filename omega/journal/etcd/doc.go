// Package etcd keeps a journal in etcd, for many processes at a time.
//
//	PREFIX/log/head           put with each entry: its version is the position of the last one
//	PREFIX/log/entry/TAG      an entry; TAG is random
//	PREFIX/checkpoint         the last checkpoint's position, that of the one before, its parts
//	PREFIX/checkpoint/AT-TAG/ its parts, of 512 KiB
//
// Each process opens the journal of the same prefix and has a copy of the cell. An append is one
// transaction, which puts an entry and the head. It compares only that the last entry is there which the
// process knows: no append makes another one try again. Processes watch the log. A watch event that is missing shows as a gap in the head's
// versions, and the walk lists the entries then.
//
//	event                           result
//	etcd is slow, or has no leader  commits wait, snapshots stay readable
//	etcd is gone                    the same, and the journal tries again, each second at most
//	a member is gone                the journal goes on with the others
//	etcd is compacted               nothing: entries are keys of their own
//	an older copy was restored      [journal.ErrForked] in each process that has applied more or
//	                                was acknowledged more; it adds nothing to that copy
//	the client is closed            [journal.ErrFailed]
//	a process is further behind than
//	the checkpoint before the last  [journal.ErrTrimmed]: open the cell again
//	an entry exceeds 1 MiB          [journal.ErrSize], of that change alone
//
// A cell of many machines has a large first entry: a machine takes some 20 bytes. The cluster
// must compact itself (auto-compaction), since each append leaves a version of the head. A
// client needs keep-alives (DialKeepAliveTime) to leave a member that does not answer.
//
// # Limits
//
//   - An operation over 1 MiB is refused: a transaction of tens of thousands of claims.
//   - Only an append has a limit of time, of 3 s.
//   - Parts of a checkpoint with an unknown outcome stay until the next checkpoint.
package etcd
