// Package elastic plans how many workers a job should get out of the idle room of a
// cell. A running job grows into that room and gives it back.
//
//	┌──────────┐ Look  ┌──────┐
//	│ Snapshot ├──────►│ Room ├──┐
//	└──────────┘       └──────┘  │ Plan  ┌─────────┐ Resize ┌──────┐ commit
//	┌───────────┐      ┌─────┐   ├──────►│ workers ├───────►│ Team ├───────► Cell
//	│ MapReduce ├─────►│ Job ├───┤       └─────────┘        └──▲───┘
//	└───────────┘ Model└─────┘   │                             │ Drop: preempted, lost
//	                   Policy ───┘                             └─────
//
// People choose a number of workers once, out of habit, and the cell changes by the
// minute. A [Policy] raises the number for as long as a [Model] of the job predicts
// that it ends sooner. Its bounds are:
//
//   - the idle room (max-parallelism);
//   - a utilisation of the cell (global cap);
//   - a multiple of the workers that the job asked for (relative job size).
//
// Looking and planning only read. Their result is a hint, and the commit decides. The
// workers beyond the number asked for are claimed at a lower precedence, so that any
// other scheduler that needs the room takes it back.
//
// The model is that of M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes,
// "Omega: flexible, scalable schedulers for large compute clusters", EuroSys 2013,
// section 6. Three things the paper leaves open are settled here. Utilisation is by
// kind of resource: the cap holds for each kind that a worker needs. The cap keeps
// extra workers out, never those that were asked for. And jobs are served one by one,
// in the caller's order: room given to one is not there for the next.
package elastic
