// Package journaltest has tests for stores of package journal, and a store with faults for
// tests of programs that use one.
//
// [Run] holds a store to its contract. [Sim] is a store in memory with faults. It delays,
// loses and doubles entries, leaves outcomes unknown, and lets its clients crash. Under
// testing/synctest it waits by the clock of that, so that runs are fast and repeatable.
package journaltest
