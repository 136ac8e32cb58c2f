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
// In simulations jobs with waits took at most 1.6 times as long as without,
// wherever one wait for each level leaves room for that: 500 to 2,000 tasks on 20
// to 100 slots, data on one node to all, offers in any order, 1 to 25 jobs, racks
// (go test -run Waits ./delay). A job that ends in less than twice its waits has
// no such room: the first wait is paid in full, as it is asked for.
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
