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
// straggler on another node often ends before the first; the first of the two
// to finish wins ([Race]), and the other is stopped. Which task gains most is
// the one that is expected to end last, not the one that is farthest behind;
// and a copy gains only on a node that is not slow, and while few run at a
// time. That is LATE: M. Zaharia, A. Konwinski, A. D. Joseph, R. Katz and I.
// Stoica, "Improving MapReduce Performance in Heterogeneous Environments", OSDI
// 2008. The zero [Policy] is that; others are there to choose and to compare.
//
// Where we differ: a node's speed is relative to what its jobs do elsewhere,
// fades with time and is shared by jobs; a task's rate counts once it is old
// enough to be copied, or finished, so that a young task is not mistaken for a
// slow one and the last tasks of a job are compared with all those before;
// percentiles are kept up to date by reports, to 1/64 of the value. Spark's rule
// goes by how long tasks take, to the nanosecond, without its counters of records.
//
// What it gains depends on the cell. On 200 nodes of which 15 % have less than
// half the usual speed, jobs took 37 to 59 % less time than without copies. A
// wave of reduces took 33 to 36 % less than with Hadoop's older rule, jobs one
// after the other 15 to 31 %, a sort that was alone 9 %, or 19 to 26 %
// with a cap of 20 %, as the paper's 10 % are fewer copies than that cell has
// slow nodes; and two waves of like tasks that were alone, as long (means of 30
// seeds: go -C bench run ./late).
//
// [Trial] runs any policy in virtual time, and [Tune] tries a grid of them on
// what the caller's own jobs did.
package late
