// Elastic prints what MapReduce jobs gain when they may use what is idle in a
// cell, and what that does to the cell's utilisation.
//
//	go run ./bench/elastic
//	go run ./bench/elastic -hours 24 -seed 7
//
// It is section 6 of M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J.
// Wilkes, "Omega: flexible, scalable schedulers for large compute clusters",
// EuroSys 2013: the distribution of speed-ups by policy (Fig 15) and utilisation
// over time (Fig 16). Package experiments says what is simulated.
package main
