// Quincy simulates placing by a flow of least cost beside queues and beside delay
// scheduling: what moves over the core switch, how long jobs take, and how fair
// that is.
//
//	go -C bench run ./quincy                         all loads by all policies, one seed each
//	go -C bench run ./quincy -load narrow -seeds 5
//	go -C bench run ./quincy -data ../../shared/data -json
//	go -C bench run ./quincy -causes -seeds 20       the losses by Quincy's preemption, and why
//
// Loads and policies are those of package experiments. Loads of which there is no
// recording are left out, and it says so. Below the tables are statements of the
// Quincy paper, and others that one would expect, each with the findings here.
// Figures are means over the seeds, with the half-width of their confidence interval
// of 95 %. Policies are compared seed by seed, and a statement is open where the
// interval of the difference does not tell: with one seed, all are. Flag -causes asks
// for 2 seeds or more. But for the last two columns, the same flags print the same.
// Interrupted, it prints nothing.
package main
