// Quincy simulates placing by a flow of least cost beside queues and beside delay
// scheduling: what moves over the core switch, how long jobs take, and how fair
// that is.
//
//	go run ./bench/quincy                         all loads by all policies, one seed each
//	go run ./bench/quincy -load narrow -seeds 5
//	go run ./bench/quincy -data ../shared/data -json
//
// Loads and policies are those of package experiments. Loads of which there is no
// recording are left out, and it says so. Below the tables are statements of the
// Quincy paper, and others that one would expect, each with what is found here.
// Figures are means over the seeds; in JSON they are with the least and the most.
// But for the last two columns, the same flags print the same. Interrupted, it
// prints nothing.
package main
