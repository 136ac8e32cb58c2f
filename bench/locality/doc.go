// Locality simulates what waiting for data brings, and what it costs: delay
// scheduling by count, by time and as learned, in virtual time.
//
//	go -C bench run ./locality
//	go -C bench run ./locality -experiment learned -seed 7
//	go -C bench run ./locality -experiment hadoop -data ../../shared/data -json
//
//	share     tasks that run where their data is, by how many offers a job passes
//	          up, beside the formula of the paper
//	sticky    jobs that share slots fairly and keep getting their own slots back
//	popular   SPARK-18886: a job all of whose data is on one node of 100
//	learned   waits that are fixed and one that is learned, as the load changes
//	unseen    the same, under loads that what learns was not made for
//	hadoop    the logs of a Hadoop cluster of 2009, with where their data was
//	facebook  an hour of jobs of Facebook's, their inputs placed at random
//
// The paper is M. Zaharia et al., "Delay Scheduling: a simple technique for
// achieving locality and fairness in cluster scheduling", EuroSys 2010.
//
// # What is simulated
//
// A slot that becomes free is offered at once, and again whenever its node is
// heard as long as it is idle. The data of a task is on a few nodes, most often 3
// at random. In share, sticky and popular a task takes as long anywhere.
//
// In learned, a cell of 100 nodes with 4 slots each has jobs at random times, first
// come, first served, in five phases of 20,000 tasks. Each phase has tasks of another length,
// data in other places, or more to gain; what is best in one is bad in another.
// The mean of all counts each phase alike: what a rule takes in it, by what the
// best rule takes. In unseen, there are seven other phases: what learns had its
// constants chosen by those of learned.
//
// In hadoop, the jobs of the log come when they came. Every slot is busy with
// other things for as long as tasks of the log ran, and then free for a ninth of
// that in the mean, so that 90 % are busy before the jobs come. A task takes as
// long as the log says, and 82 % of it where its data is. That is what this log
// and the other one that comes with it have for tasks that did run there, beside
// those of the same job that did not: the mean of 35. In facebook, no such thing
// is known: tasks read 16 MiB a second near their data, and half of that
// elsewhere.
package main
