// Package elastic says how many workers a job should get out of what is idle in
// a cell, and lets a running job grow into it and give it back.
//
//	┌──────────┐ Look  ┌──────┐
//	│ Snapshot ├──────►│ Room ├──┐
//	└──────────┘       └──────┘  │ Plan  ┌─────────┐ Resize ┌──────┐ commit
//	┌───────────┐      ┌─────┐   ├──────►│ workers ├───────►│ Team ├───────► Cell
//	│ MapReduce ├─────►│ Job ├───┤       └─────────┘        └──▲───┘
//	└───────────┘ Model└─────┘   │                             │ Drop: preempted, lost
//	                   Policy ───┘                             └─────
//
// People choose a number of workers once, out of habit, and the cell changes
// by the minute. A [Policy] raises the number for as long as a [Model] of the
// job predicts that it ends sooner: up to what is idle (max-parallelism), up to
// a utilisation of the cell (global cap), or up to a multiple of what the job
// asked for (relative job size). Looking and planning only read; what they say
// is a hint, and the commit decides. The workers beyond those asked for are
// claimed at a lower precedence, so that whoever needs the room takes it back.
//
// The model is that of M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J.
// Wilkes, "Omega: flexible, scalable schedulers for large compute clusters",
// EuroSys 2013, section 6. Three things the paper leaves open are settled here.
// Utilisation is by kind of resource: the cap holds for each kind that a worker
// needs. The cap keeps extra workers out, never those that were asked for. And
// jobs are served one by one, in the caller's order: what one has been given the
// next no longer finds.
package elastic
