// Locality simulates the gain and the cost of waiting for data: delay scheduling by
// count, by time and as learned, in virtual time.
//
//	go -C bench run ./locality
//	go -C bench run ./locality -experiment learned -seed 7
//	go -C bench run ./locality -experiment hadoop -data ../../shared/data -json
//
//	share     tasks that run where their data is, by how many offers a job passes
//	          up, beside the formula of the paper
//	sticky    jobs that share slots fairly and keep getting their own slots back
//	popular   SPARK-18886: a job with all of its data on one node of 100
//	learned   waits that are fixed and one that is learned, as the load changes
//	unseen    the same, under loads that the learning rule was not made for
//	hadoop    the logs of a Hadoop cluster of 2009, with where their data was
//	facebook  an hour of jobs of Facebook's, their inputs placed at random
//
// The paper is M. Zaharia et al., "Delay Scheduling: a simple technique for
// achieving locality and fairness in cluster scheduling", EuroSys 2010.
//
// # The simulation
//
// A slot that becomes free is offered at once, and again whenever its node is
// heard as long as it is idle. The data of a task is on a few nodes, most often 3
// at random. In share, sticky and popular a task takes as long anywhere.
//
// In learned, a cell of 100 nodes with 4 slots each has jobs at random times, first
// come, first served, in five phases of 20,000 tasks. Each phase has tasks of another
// length, data in other places, or more to gain. The best rule in one is bad in another.
// The mean of all counts each phase alike: the time of a rule in it, by that of the
// best rule. In unseen, there are seven other phases: the constants of the learning
// rule were chosen by the phases of learned.
//
// In hadoop, the jobs of the log come when they came. Every slot is busy with
// other work for as long as tasks of the log ran. Then it is free for a ninth of
// that in the mean, so that 90 % are busy before the jobs come. A task takes as
// long as the log says, and 82 % of it where its data is. The 82 % is the mean of 35
// ratios, in this log and the other one that comes with it: tasks that ran where their
// data is beside those of the same job that did not. In facebook, no such figure
// is known: tasks read 16 MiB a second near their data, and half of that
// elsewhere.
package main
