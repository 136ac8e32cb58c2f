package loop

import "github.com/cellsched/cellsched/drf/gate"

// Kept returns how many allocations the loop knows the jobs of.
func Kept[K any](l *Loop[K]) int { return l.ledger.len() }

// SeatOf returns the seat of an order at its gate.
func SeatOf[K any](b *ByTurn[K]) *gate.Seat { return b.seat }

// Resting reports whether the loop has told its gate that it has no job to go.
func (b *ByTurn[K]) Resting() bool { return b.resting }

// Values that the docs state, for tests.
const (
	DefaultAttempts  = defaultAttempts
	DefaultFruitless = defaultFruitless
)
