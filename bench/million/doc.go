// Million places a million tasks, each in a commit of its own, and prints the cost.
//
//	go -C bench run ./million
//	go -C bench run ./million -n 200000 -machines 500 -schedulers 4
//	go -C bench run ./million -n 50000 -machines 500 -policy 'best fit'
//
// The tasks have mixed needs of cpu, memory and gpu, drawn with a fixed seed;
// the machines are all alike, and so large that the tasks fill 85 % of their
// cpu and memory. A handle is kept for each. The cell is filled by one
// scheduler and by several at once, through the public API: search in the
// snapshot, commit, read the allocation. As many schedulers also fill cells of their
// own, which have the machines between them. If they take less time, the one cell is in
// the way. All rows take turns, and ratios are of runs in the same turn.
//
// Beside it runs the loop that one would write by hand: a mutex around a slice of
// machines, next fit, and a slab of handles. The slab grows in chunks or, as one writes
// it first, by append. That loop has no snapshots, owners, accounts, gangs or
// preemption: the comparison shows the price of having them.
//
// A second table has work that is done over and over in cells of as many machines:
//
//   - release and place in cells that are 85 and 97 % full, by one scheduler and by
//     several at once;
//   - gangs, one machine, and the first placement after a refresh.
//
// The figure is the CPU time of a round, or the wall's where the row says so. The
// mutex in chunks does the same work.
//
// Each begins with a heap that has been given back to the system, as in a fresh
// process. CPU time is the whole process's, garbage collection included. Memory
// is the live heap after a collection, machines left out, handles
// included.
// At the end every machine of the cell is checked: free and allocated add up to
// its capacity, and as many allocations are live as were granted.
package main
