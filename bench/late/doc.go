// Late compares speculative execution by LATE with that of other rules, and
// with none, in virtual time:
//
//	go -C bench run ./late -seeds 30
//	go -C bench run ./late -seeds 30 -trace folder-input-trace.json.gz
//
// There are 200 nodes of two slots. Of these, 60 % have speed 1, 25 % 0.7, 10 %
// 0.4 and 5 % 0.2, each drawn again within 20 % every minute. Jobs are of three
// kinds. One is like Hadoop's sort. It has a wave of maps, and then reduces for 90 %
// of the slots, which copy, sort and reduce, and copy for three fifths of the time.
// One is such reduces only, when nothing is known of the nodes. One is two waves
// of tasks that are all alike. Tasks take two minutes
// within 10 % at speed 1. Jobs come alone, when idle slots cost nothing, or one
// after the other, when a slot that runs a copy is wanted for the next job. Slots
// of a node are independent, or share its disk.
//
// With -trace, jobs are those of a recorded workload, and all nodes have speed 1:
// the cause of a long task is in its length. If that cause was the task, its copy
// takes as long. If it was the run, a copy has another length, that of any task of
// the stage. A trace does not tell which, so there is a table of both.
package main
