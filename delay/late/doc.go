// Package late decides which slow task to run a second time, where, and when
// that is not worth it.
//
//	           progress, ends                        a slot without work
//	attempts ─────────────────▶ ┌───────────────┐ ◀─────────────────────
//	                            │      Job      │
//	                            │ slow? ends    │   copy this task there
//	                            │ last? allowed?├─────────────────────▶
//	                            └───▲───────┬───┘   or none, and why
//	                  speeds, cap   │       │ what was seen
//	                            ┌───┴───────▼───┐
//	             other jobs ◀──▶│     Book      │
//	                            └───────────────┘
//
// A job is as slow as its last task. When slots would idle, a second run of a
// straggler on another node often ends before the first. The first of the two to
// finish wins ([Race]), and the other is stopped. The task with the largest gain is
// the one that is expected to end last, not the one that is farthest behind. A copy
// gains only on a node that is not slow, and while few run at a time. That is LATE: M. Zaharia, A. Konwinski, A. D. Joseph, R. Katz and I.
// Stoica, "Improving MapReduce Performance in Heterogeneous Environments", OSDI
// 2008. The zero [Policy] is LATE; others are there to choose and to compare.
//
// Differences from the paper:
//
//   - A node's speed is relative to its jobs' progress elsewhere, fades with time and
//     is shared by jobs.
//   - A task's rate counts once it is old enough to be copied, or finished. So a young
//     task is not mistaken for a slow one, and the last tasks of a job are compared
//     with all earlier ones.
//   - Percentiles are kept up to date by reports, to 1/64 of the value.
//   - Spark's rule uses run times, to the nanosecond, without its counters of records.
//
// The gain depends on the cell. On 200 nodes, 15 % of them below half the usual speed,
// jobs took 37 to 59 % less time than without copies. Compared with Hadoop's older
// rule (means of 30 seeds: go -C bench run ./late):
//
//   - a wave of reduces took 33 to 36 % less, jobs one after the other 15 to 31 %;
//   - a sort that was alone took 9 % less, and with a cap of 20 % 19 to 26 %. The
//     paper's cap of 10 % is fewer copies than that cell has slow nodes;
//   - two waves of like tasks that were alone took as long.
//
// Package delay/late/trial runs any policy in virtual time, and tunes a policy to the
// history of the caller's own jobs.
package late
