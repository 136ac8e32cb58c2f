package mcf

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
)

// ErrNotOptimal is the error of a failed Verify.
var ErrNotOptimal = errors.New("quincy: not optimal")

// Verify proves from its prices that s is a flow of least cost, or says what
// contradicts it. The reduced cost of an arc is its cost + Price[From] -
// Price[To]. It may not be negative where the arc has room, nor positive where
// some of its flow could be taken back. Cost: O(nodes + arcs).
func (g *Graph) Verify(s Solution) error {
	cost, err := g.Cost(s.Flow)
	if err != nil {
		return err
	}
	if len(s.Price) != len(g.Supply) {
		return fault.Newf("quincy", ErrNotOptimal, "%d prices of %d nodes", len(s.Price), len(g.Supply))
	}
	if cost != s.Cost {
		return fault.Newf("quincy", ErrNotOptimal, "flow costs %d, said to be %d", cost, s.Cost)
	}
	for i, a := range g.Arcs {
		reduced := a.Cost + s.Price[a.From] - s.Price[a.To]
		if f := s.Flow[i]; f < a.Cap && reduced < 0 || f > a.Low && reduced > 0 {
			return fault.Newf("quincy", ErrNotOptimal, "arc %d: flow %d of %d to %d at a reduced cost of %d", i+1, f, a.Low, a.Cap, reduced)
		}
	}
	return nil
}
