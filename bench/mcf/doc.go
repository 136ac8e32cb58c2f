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
//
//	go -C bench run ./mcf -matrix
//	go -C bench run ./mcf -matrix -cells 'distinct/.*/hot/150%/2500' -lemon=false
//	go -C bench run ./mcf -matrix -every 20
//
// With -matrix it plans the cells of a matrix of shapes:
//
//   - costs with ties, or distinct;
//   - machines of equal or of 1 to 64 slots;
//   - 0, 6 or 20 preferred machines a task, of all or of 1 % of the machines;
//   - 50 or 5,000 jobs;
//   - 90 to 300 tasks for 100 slots;
//   - 2,500 or 12,500 machines.
//
// Times are milliseconds of CPU time. A row has those that tasks take to be added, and
// the planner's for the first plan. Rounds with 1 % and 0.1 % of the tasks changed
// follow, and the first plan by the solver alone, by cost scaling and by LEMON: its network
// simplex and its cost scaling. The last two columns are the solver's time over that of
// the fastest of these, and the round with 1 % over the first plan. Each plan is made
// twice, and the second time proved optimal.
//
// LEMON is compiled where there is a compiler and the library (liblemon-dev of Debian).
package main
