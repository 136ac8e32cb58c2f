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
// scheduling", EuroSys 2010. Algorithm 2 counts the offers passed up
// ([Policy].Skips), Algorithm 3 measures the time since ([Policy].Waits). Unlike
// there, a job may wait at any number of levels and not only at node and rack.
//
// In Algorithm 3 each launch near the data ends the wait. Suppose that all tasks of a
// job want a few nodes, and get a slot there more often than the waits last. Then the
// job never goes anywhere else, however many nodes are idle: SPARK-18886. Here a
// launch ends the wait except for the part for which slots have idled. The job repays
// that part by 1/16 of the time in which it takes every offer, and by launches near
// its data. So the cell loses a bounded time to each job ([Policy].Waits).
// [Policy].Paper asks for the literal rule.
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
// is that of 50 tasks of 1 s with data on 3 of 100 nodes. With waits of 3 s and
// 3 s they took 12 s instead of 1 s. Choose waits that are short beside the makespan
// of a job, or have them learned.
//
// Counting skips is as in the paper. It is safe as long as D is less than the
// number of nodes. Otherwise the popular node may come round before D offers are passed up.
// Once they are, every offer is taken until a local one comes, and how long D
// offers last depends on how many nodes become free.
//
// [Load.Suggest] returns a wait for a cell that is always busy and data that is spread
// at random. A [Learner] learns the wait from two measurements: how often useful nodes
// become free, and how much longer tasks run far from their data. A job that learns
// does not wait if the gain is less than the expected wait.
//
// A job does not wait in these cases:
//
//   - it has no preference;
//   - the level has none of its tasks ([Job.SetNearest], [Job.SetEmpty]);
//   - it runs less than its share ([Job.SetStarved]).
//
// [Queue] keeps many jobs in line and looks only at jobs that a node is of use to. It
// knows the tasks and the places of their data. A Job knows neither: its caller does.
package delay
