// Package explore runs a few threads that share memory in every order in which
// their atomic operations can follow one another, and says in which one
// something goes wrong. Only the build tag explore fills it with code.
//
// A scenario sets up fresh state and names threads that work on it. They are
// coroutines: one runs at a time, and before each operation of a type of
// package atomics the explorer decides who goes on. It starts over for each
// schedule, depth first, and takes those first that take the turn from a thread
// which could have gone on (a preemption) least often; most faults need one or
// two such turns, and bounding them makes the number of schedules a polynomial
// of the number of steps (M. Musuvathi and S. Qadeer, "Iterative Context
// Bounding for Systematic Testing of Multithreaded Programs", PLDI 2007).
//
// What is shared besides has to be immutable once it is: the explorer sees
// atomic operations, mutexes and events of package atomics, and nothing else.
// Contexts that end are seen by those who wait for an event. The threads must
// do the same in the same schedule: no clock, no chance, no map order that
// matters, no goroutine or channel of their own.
package explore
