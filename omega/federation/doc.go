// Package federation schedules tasks over many cells, from global masters that know the
// state of the cells late and in part.
//
//	 Submit  ┌────────┐  launches, in batches  ┌──────────┐  Commit   ┌────────────┐
//	────────▶│ Global ├───────────────────────▶│ Verifier ├──────────▶│ omega.Cell │
//	         └──▲──┬──┘                        └──▲───┬───┘           └────────────┘
//	 Notify     │  │                        Done  │   │  Notify
//	◀───────────┼──┘                      ────────┘   ├──────────▶ a runner of tasks
//	            └─────────────────────────────────────┘
//	               verdicts, ended tasks, states of machines
//
// A [Global] matches tasks with machines by the last reports that it received. The
// [Verifier] at each cell is a scheduler of that cell: it commits the launches that
// still fit, and refuses the others. Each of its messages carries the machines that have
// changed, and a heartbeat carries all of them. Refused tasks go back to the head of
// their queue.
//
// The machines of a cell are divided into one partition for each global master. A global
// master looks in its own partitions first, and then borrows from the others.
//
// Messages may be lost, delayed, repeated and reordered. Batches, notices and states of
// machines have numbers, so each takes effect once, and older states are ignored.
//
// The model is that of "Megha: Decentralized Global Fair Scheduling for Federated
// Clusters", arXiv 2103.08413. These parts differ:
//
//   - A borrowed worker is a claim on the machine. No logical worker is made.
//   - Replies carry the machines that have changed since the last message, and not all.
//   - A task without a match waits until room appears that the global master did not
//     know of. It is not taken from the queue and put back.
//   - Tasks of a job can be a gang, within one cell.
//
// # Guarantees, whatever happens to messages
//
// A task is in one of these states, at one place: it waits in a queue; it is in a batch
// that one local master has not answered; it runs on one local master; it has ended.
// The steps from one state to the next are these.
//
//  1. A batch has a number and one local master. It is sent again, to that master, until
//     it is answered. So its tasks are at no other place meanwhile.
//  2. A verifier commits a batch once. It keeps the answer until the global master has
//     settled the batch, and ignores each settled number.
//  3. A task that has ended, or was stopped, is told of in a numbered notice. The notice
//     is sent until it is acknowledged, and the global master follows a number once.
//  4. A global master that replaces another one has a higher epoch. A verifier that has
//     heard of it lists its tasks, and ignores older ones. So do its successors. A task of the predecessor is
//     queued only after all local masters have listed theirs.
//  5. A verifier that replaces another one has a higher incarnation, and lists its tasks
//     before it takes a batch. Batches for its predecessor are ignored. The list decides:
//     tasks in it run or have ended, and the others go back to the queue.
package federation
