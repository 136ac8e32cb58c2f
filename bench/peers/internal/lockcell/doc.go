// Package lockcell is the strongest simple rival of a cell, as a good Go
// programmer writes it by hand.
//
//	┌────────────────────────────────────┐
//	│ mutex                              │
//	│  free    [ ][ ][ ][ ][ ][ ][ ][ ]  │  a vector each machine
//	│  cursor ────────────▲              │  searches go on where the last ended
//	│  slab    [need machine generation] │  a record each claim, no pointers
//	└────────────────────────────────────┘
//
// It has no owners, accounts, precedence, snapshots, errors that say why, or
// machines that come and go, and it knows three kinds of resource. That is in
// its favor: cellsched is measured here against the price of the lock alone.
package lockcell
