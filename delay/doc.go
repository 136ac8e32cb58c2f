// Package delay decides whether a task should start on a node that is free now
// or wait for one that is nearer to its data.
//
//	                       ┌───────────────────────────┐
//	 offer of a node,      │            Job            │   launch
//	 at a locality level   │  near enough?             ├──────────▶ the task runs,
//	──────────────────────▶│  or passed up D offers,   │            the wait is over
//	                       │  or waited W?             │   wait
//	                       └───────────────────────────┘──────────▶ the node goes to
//	                                                                the next job
//
// Passing up a few offers is cheap, because nodes become free all the time, and
// reading from afar is dear. The rules are those of M. Zaharia et al., "Delay
// Scheduling: a simple technique for achieving locality and fairness in cluster
// scheduling", EuroSys 2010: Algorithm 2 counts the offers passed up
// ([Policy].Skips), Algorithm 3 measures the time since ([Policy].Waits). Unlike
// there, a job may wait at any number of levels and not only at node and rack.
//
// Algorithm 3 has each launch near the data end the wait. So a job whose tasks
// all want a few nodes, and get a slot there more often than the waits last, never
// goes anywhere else, however many nodes are idle. Spark's users met this as
// SPARK-18886. Here a launch ends the wait but for the part for which slots have
// idled. The job makes up for that part with time in which it takes what it is
// offered, at 1/16 of that time, and with launches near its data. So the cell
// loses a bounded time to each job ([Policy].Waits). [Policy].Paper asks for the
// literal rule.
//
// # What waits cost
//
// Simulations compare the makespan with waits to that without, for 60,480 loads
// (go test ./delay -v -timeout 30m -run WaitsDoNot -args -matrix):
//   - 1, 5 and 25 jobs with 50, 500 and 2,000 tasks of 1, 5 and 30 s;
//   - 20 and 100 slots, offered in any order, with racks and without;
//   - data on 1 node to all;
//   - waits of 0.5, 1.2 and 3 task times, for a node and again for a rack.
//
// The table counts loads by the ratio of the two makespans. A load is long if its
// waits, one task and one interval of offers add no more than 0.6 of its makespan.
//
//	           loads   > 1.3    > 1.6     > 2     > 4   largest
//	long      35,504     6 %        0       0       0      1.60
//	short     24,976    71 %     47 %    26 %     5 %     12.00
//
// So waits cost a long load at most 0.6 of its makespan. A short load pays its waits
// in full, and more: it ended later by up to 2.1 times their sum. The largest ratio
// is that of 50 tasks of 1 s whose data is on 3 of 100 nodes. With waits of 3 s and
// 3 s they took 12 s instead of 1 s. Choose waits that are short beside the makespan
// of a job, or have them learned.
//
// Counting skips is as in the paper, and safe as long as D is less than the number
// of nodes: else the popular node may come round before D offers are passed up.
// Once they are, every offer is taken until a local one comes, and how long D
// offers last depends on how many nodes become free.
//
// How long to wait is told by [Load.Suggest] for a cell that is always busy and
// data that is spread at random, or learned as one goes ([Learner]): from how
// often nodes that are of use become free, and from how much longer tasks run far
// from their data. Where the gain is less than the wait to be expected, a job that
// learns does not wait.
//
// A job without preference does not wait, nor does one wait for a level that
// has none of its tasks ([Job.SetNearest], [Job.SetEmpty]), or when it runs less
// than its share ([Job.SetStarved]).
//
// [Queue] has many jobs wait in line and asks only those that a node is of use
// to. It knows the tasks and where their data is; a Job knows neither, and is
// asked by whoever does.
package delay
