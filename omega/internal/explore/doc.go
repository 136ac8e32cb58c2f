// Package explore runs a few threads that share memory in every order in which their
// atomic operations can follow one another. It reports the order in which a check
// fails. Only the build tag explore fills it with code.
//
// A scenario sets up fresh state and names threads that work on it. They are
// coroutines: one runs at a time, and before each operation of a type of package
// atomics the explorer decides which thread goes on. It starts over for each schedule,
// depth first. A preemption takes the turn from a thread which could have gone on.
// Schedules with the fewest preemptions come first, since most faults need one or two.
// A bound on preemptions makes the number of schedules a polynomial of the number of
// steps (M. Musuvathi and S. Qadeer, "Iterative Context Bounding for Systematic Testing
// of Multithreaded Programs", PLDI 2007).
//
// Other shared state has to be immutable once it is shared: the explorer sees atomic
// operations, mutexes and events of package atomics, and nothing else. A thread that
// waits for an event sees that its context has ended. The threads must do the same in
// the same schedule: no clock, no chance, no map order that matters, no goroutine or
// channel of their own.
package explore
