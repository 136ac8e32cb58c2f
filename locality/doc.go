// Package locality says where things are: how far one node is from another,
// and which nodes hold a copy of a block of data.
//
//	 a task's block              its holders                a free node
//	───────────────▶ ┌──────────┐ ──────────▶ ┌──────────┐ ◀───────────
//	                 │ Replicas │             │ Topology │
//	                 └────▲─────┘             └────┬─────┘
//	                      │ Add, Remove            │ Level
//	               caches of the nodes             ▼
//	                               0 node · 1 rack · 2 zone · 3 any
//
// A level is what delay scheduling decides by: M. Zaharia et al., "Delay
// Scheduling: a simple technique for achieving locality and fairness in
// cluster scheduling", EuroSys 2010, where the levels are node, rack and
// off-rack. Unlike there, a topology may have from 2 to 16 of them, with names
// of the caller's choice.
package locality
