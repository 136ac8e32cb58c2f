// Package locality says where things are: how far one node is from another,
// which nodes hold a copy of a block of data, and which have what a task
// requires of a machine.
//
//	 a task's block              its holders                a free node
//	───────────────▶ ┌──────────┐ ──────────▶ ┌──────────┐ ◀───────────
//	                 │ Replicas │             │ Topology │
//	                 └────▲─────┘             └────┬─────┘
//	                      │ Add, Remove            │ Level
//	               caches of the nodes             ▼
//	                               0 node · 1 rack · 2 zone · 3 any
//	                                               │ what tasks got
//	                      copy to, evict           ▼
//	               ◀───────────────────────── ┌──────────┐
//	                                          │  Demand  │
//	                                          └──────────┘
//
// A level is what delay scheduling decides by: M. Zaharia et al., "Delay
// Scheduling: a simple technique for achieving locality and fairness in
// cluster scheduling", EuroSys 2010, where the levels are node, rack and
// off-rack. Unlike there, a topology may have from 2 to 16 of them, with names
// of the caller's choice, and nodes come and go while it is read. Who plans by
// racks takes their numbers from [Topology.Group]. [Demand] finds the blocks for
// which waiting does not help, since their few holders are always busy, and what
// another replica would gain.
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
// Constraints are matched as in "Megha: Decentralized Global Fair Scheduling
// for Federated Clusters", section IV-B: by the AND of bit vectors, 64 machines
// at a time, which a search may enter anywhere. Unlike there, vectors follow
// changes of single machines while they are read, intersections that are asked
// for often are kept, and constraints may be soft. What concerns not a machine
// but what runs there, [Spread] counts: not too many tasks of a job on a node,
// in a rack, in a zone.
package locality
