// Package experiments runs recorded and synthetic jobs on a cell with racks in
// virtual time, by the policies of the evaluation of M. Isard et al., "Quincy:
// fair scheduling for distributed computing clusters", SOSP 2009, and by delay
// scheduling.
//
//	  jobs, tasks, flows, in virtual time ──▶ world ── a round, every 500 ms ──┐
//	                                            ▲                              ▼
//	┌─────────────────────┐   start, stop       │                ┌─────────────────────┐
//	│ slots, switches,    │◀────────────────────┴────────────────┤ policy: greedy,     │
//	│ bytes moved, lost   │                                      │ delayed, planned    │
//	└─────────────────────┘                                      └─────────────────────┘
//
// # The cell
//
// A task has a slot while it fetches the data that is not on its machine, then runs.
// Data in the rack comes at the rate of a link, at any load: racks' switches
// are taken to be no bottleneck. Data beyond comes over the core switch. All tasks
// that fetch over it share it evenly, none with more than a link. So it
// takes longer the more others do it. The work of a task that is stopped is lost,
// and fetched anew. Blocks have three copies, in two racks, as HDFS places them.
//
// # Policies
//
//	greedy                  queues: each free slot to the task that is nearest, of
//	                        equal ones that of the job that came first
//	greedy, fair            the same, for jobs that have less than their share
//	greedy, fair, preempts  and a job with more loses its youngest tasks to them
//	delay scheduling        package delay, fewest slots first by package drf
//	quincy                  package locality/quincy: E = 0, F = all tasks; running
//	                        tasks stay
//	quincy, preempts        E = 1: running tasks may be moved and stopped
//	quincy, fair            F = the share, or the tasks that run if these are more
//	quincy, fair, preempts  E = F = the share
//
// A job's share is the slots it gets when slots are given out one by one, to the job
// with the fewest that has tasks for more ([allot.Fill]). Costs are the published
// ones. A gigabyte over a rack's switch costs 1, and over the core switch 2, or 20
// where that is narrow. A second of waiting costs a half, and one of work lost 1.
// The queues of the paper serve one machine at a time, when it becomes free. Here
// they see all free slots of a round at once, which is to their advantage.
//
// # Loads
//
//	synthetic  an hour of scans, joins and computations on 240 machines in 8 racks
//	narrow     the same with a quarter of the core switch
//	batch      15 minutes of that within one: how soon is all of it done?
//	facebook   20 minutes of the trace of 2010 on the same cell, a fifth of its bytes
//	hadoop     the log of 2009, with a cell that is 90 % busy with other things
//
// The paper's own jobs are not public. The input of facebook's tasks follows from how
// long they take; reduces are left out, as their data is everywhere. A log says how
// long tasks took and where their data was, not how much: see hadoop.go.
//
// # Figures
//
// System normalised performance (SNP) is a geometric mean over jobs. It is of the least
// time that a job takes with all slots and its data at hand, by the time that it took.
// Unfairness is the coefficient of variation of the same. Jain's index is over
// jobs, of the slot time that each held, by the sum of its share while it was
// there. At the end of each run all that was started, moved, held and lost has to
// add up, or there is no row.
package experiments
