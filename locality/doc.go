// Package locality describes places: the distance between nodes, the nodes that hold
// a copy of a block of data, and the machines that meet a task's constraints.
//
//	 a task's block              its holders                a free node
//	───────────────▶ ┌──────────┐ ──────────▶ ┌──────────┐ ◀───────────
//	                 │ Replicas │             │ Topology │
//	                 └────▲─────┘             └────┬─────┘
//	                      │ Add, Remove            │ Level
//	               caches of the nodes             ▼
//	                               0 node · 1 rack · 2 zone · 3 any
//	                                               │ reads of tasks
//	                      copy to, evict           ▼
//	               ◀───────────────────────── ┌──────────┐
//	                                          │  Demand  │
//	                                          └──────────┘
//
// Delay scheduling decides by levels: M. Zaharia et al., "Delay Scheduling: a simple
// technique for achieving locality and fairness in cluster scheduling", EuroSys 2010.
// Its levels are node, rack and off-rack. Here a topology may have from 2 to 16
// levels, with names of the caller's choice, and nodes come and go while it is read. A
// planner by racks takes their numbers from [Topology.Group]. [Demand] finds the blocks
// for which waiting does not help, since their few holders are always busy. It returns
// the gain of another replica.
//
//	 machines                   a task's constraints         a search for room
//	──────────▶ ┌────────────┐ ──────────────────────▶ ┌─────────────┐
//	 Describe   │ Attributes │   Register, Require     │ Constraints │ From, First, Has
//	            └────────────┘                         └──────┬──────┘
//	             a bit per machine                     Prefer ▼
//	             and predicate                         ┌─────────────┐
//	                                                   │   Ranking   │ From
//	                                                   └─────────────┘
//
// Constraints are matched as in "Megha: Decentralized Global Fair Scheduling for
// Federated Clusters", section IV-B: by the AND of bit vectors, 64 machines at a time.
// A search may begin at any machine. Here, unlike in the paper, vectors follow changes
// of single machines while they are read. Frequent intersections are cached, and
// constraints may be soft. [Spread] limits the tasks of a job on a node, in a rack, in
// a zone.
package locality
