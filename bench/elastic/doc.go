// Elastic prints the gain of MapReduce jobs that may use the idle room of a cell, and
// the effect on the cell's utilisation.
//
//	go -C bench run ./elastic                        12 hours of a busy and of a quiet cell
//	go -C bench run ./elastic -hours 6 -seeds 5      means of five workloads of each
//	go -C bench run ./elastic -json                  rows for machines
//
// It is section 6 of M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J.
// Wilkes, "Omega: flexible, scalable schedulers for large compute clusters",
// EuroSys 2013. It has the distribution of speed-ups by policy (Fig 15), and how
// utilisation varies (Fig 16; over time it is in bench/plot). Package experiments
// describes the simulation. All figures are means over the seeds, from 1 on. For
// jobs that gain, speed-up and deviation, the least and the most with any seed
// stand beside the mean; with -json, they stand beside all figures. Interrupted, it
// prints nothing.
package main
