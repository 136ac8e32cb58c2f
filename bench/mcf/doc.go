// Mcf solves a min-cost-flow problem from a file in the DIMACS format and prints
// the least cost and the time that the solver took.
//
//	go -C bench run ./mcf FILE.min
//	go -C bench run ./mcf -solver generic FILE.min
//
// Networks of the Quincy shape go to the solver of package quincy, others to
// cost scaling; -solver special or generic decides otherwise. The first line is
// "cost N", the second says which solver it was, and why. The CPU time is the
// process's, without reading the file and building what the solver works on. What
// a solver finds is proved optimal before it is printed.
package main
