// Package simulate runs schedulers of the library on a cell of the library in
// virtual time, with the measures of the Omega paper.
//
//	Generate, ReadCSV      Run                                     Metrics
//	 ┌──────┐ Submit ┌───────────┐  Refresh, Commit  ┌────────────┐
//	 │ jobs ├───────▶│ loop.Loop ├──────────────────▶│ omega.Cell │──▶ busyness, conflicts,
//	 └──────┘        └───▲───────┘                   └─────▲──────┘    waits, utilisation
//	                     │ Step            Release         │
//	                 ┌───┴─────────────────────────────────┴───┐
//	                 │ events by time: a scheduler has thought │
//	                 │ or retries, the tasks of a job end      │
//	                 └─────────────────────────────────────────┘
//
// A run is one goroutine's, and the same configuration gives the same metrics.
// Runs share nothing but jobs, which they only read. The paper is
// M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, "Omega:
// flexible, scalable schedulers for large compute clusters", EuroSys 2013,
// section 4.
//
// Schedulers of a two-level architecture are frameworks of an [offers.Master] on that
// cell instead: they have no loop, and claim the room that they are offered.
//
// Beside the schedulers there can be limits on their allocations, a [gate.Gate] that
// they ask, and an [Audit] that finds schedulers with too much and takes it back. A
// rogue is one with other jobs: a cell sees no more of it than claims.
//
// [Sparrow] is for comparison, and the only scheduler here that is not the
// library's.
package simulate
