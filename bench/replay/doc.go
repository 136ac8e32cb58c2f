// Replay runs a recorded workload through the library, in virtual time, and prints the
// outcome.
//
//	go -C bench run ./replay -format alibaba -trace openb_pod_list_default.csv -nodes openb_node_list_all_node.csv -by class
//	go -C bench run ./replay -format swim -trace FB-2010_samples_24_times_1hr_withInputPaths_0.tsv -machines 3000 -spread 20
//	go -C bench run ./replay -format rumen -trace folder-input-trace.json.gz -size cpu=2,memory=4Gi -wait 5s,5s -order fifo
//	go -C bench run ./replay -trace jobs.csv -nodes nodes.csv -users users.csv -json -o result.json
//
// Formats are those of package bench/trace, where one of our own is described
// that anything can be converted to.
//
//	trace ──▶ order ──▶ delay ──────▶ omega.Snapshot ──▶ omega.Scheduler ──▶ omega.Cell
//	          drf.Heap  near enough?  Find, Take         Commit: claims      Usage by account
//
// One scheduler places all tasks on one cell. All ends and submissions of
// one moment make a round. Allocations are released in one transaction. Then
// tasks are started one by one, each time the first in the order that has
// room near enough, and claimed in another transaction. A job waits for its data
// by delay scheduling (-wait). One that does not wait takes the machine that -place
// picks, and starts the task there that is nearest to its data. The blocks of an input
// file are put on random nodes by a seeded hash of its name, where the trace does
// not say where they are. At the end everything that was submitted must have ended
// and the cell be empty, or the replay fails.
//
// The result has
//
//   - how long jobs waited for their first task and tasks for their start;
//   - how many tasks ran on the node of their data, in its rack and elsewhere;
//   - the part of the cell that was used, by kind;
//   - the dominant share of each user, class or job (-by) over time;
//   - how many placements a second were decided, which is the only figure that depends
//     on the machine that it runs on.
//
// A task takes as long here as where it was recorded, wherever it runs: neither the
// distance to its data nor its neighbours make it slower.
//
// Where there is room for all tasks, every order gives the same: no job waits
// in the trace of Alibaba. With -compress N times of submission are divided by N,
// and nothing else is: durations, waits and samples stay as they are. With 20000
// jobs of that trace wait, and orders differ.
//
// -place next looks at few machines for a task, best-of at eight. best and worst
// look at all that have room, each time, and are for cells of hundreds of machines.
//
// Input that makes no sense, such as a line that was cut or a task that fits on no
// empty machine, ends the replay with an error. It names file, line, column and
// the expected value; nothing is written then. So does a trace without jobs. With
// -leave-out jobs of such tasks are counted and left out instead: one of the trace
// of Alibaba with GPU constraints is. With -o the result appears whole or not at
// all, with the mode of the file that was there. Whether there is somewhere to put
// it is found out first. A pipe or a device is written to as it is.
//
// Rumen's traces need a file where they are to say which machines there are: it is
// read twice. Anything else can come through a pipe.
package main
