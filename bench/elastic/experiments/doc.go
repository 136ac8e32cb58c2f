// Package experiments runs MapReduce jobs with opportunistic resources in virtual
// time, as in section 6 of the Omega paper (M. Schwarzkopf, A. Konwinski, M.
// Abd-El-Malek and J. Wilkes, EuroSys 2013).
//
//	  services: hold their part of the cell for good
//	     │
//	┌────▼─────────────────────────────┐ marks ┌────────────────────────────────┐
//	│ omega.Cell                       ├──────►│ MapReduce: one elastic.Team a  │
//	│ omega.Txn, with victims if full  │◄──────┤ job; Look, Plan, Resize when a │
//	└────▲─────────────────────────────┘       │ job comes or ends a phase, and │
//	     │ preempts extra workers              │ every minute                   │
//	  batch tasks                              └────────────────────────────────┘
//
// The library decides: the cell with its commits and preemption, and package
// elastic. Time is simulated. A job runs as its [elastic.MapReduce] predicts, so
// the model is always right. A worker that is preempted loses no work. So gains are
// upper bounds, as with the paper's linear model.
//
// The traces of the paper are not public. The workloads are made up. From the paper
// come the popular numbers of workers (5, 11, 200 and 1000), the policies and their
// parameters, and the difference between busy cells and a small idle one. The number
// of activities of a job for each worker it asked for is drawn between 1/4 and 32,
// evenly on a logarithmic scale. So which jobs could gain at all follows from
// that choice and not from a measurement. The figures show how policies
// and cells compare: [Sweep] over some workloads of each cell, [Compare] on one.
package experiments
