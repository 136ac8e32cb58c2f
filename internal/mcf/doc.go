// Package mcf solves min-cost-flow problems of any shape: which flow meets all
// supplies and demands within the arcs' capacities, and costs the least.
//
// It is what the solver for graphs of the Quincy shape is compared with, and
// what solves all others. The algorithm is cost scaling by push and relabel:
// A. Goldberg, R. Tarjan, "Finding minimum-cost circulations by successive
// approximation", 1990, with the global price updates and the test for early
// optimality of A. Goldberg, "An efficient implementation of a scaling
// minimum-cost flow algorithm", 1997.
package mcf
