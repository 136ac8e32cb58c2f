package gate

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Seats that join and leave at the same time are all there, and none stays. What
// the gone have returned is counted.
func TestGate_SeatsComeAndGoAtOnce(t *testing.T) {
	const goroutines, seats = 4, 300
	gate, err := New(resources.Vector{goroutines * seats}, time.Second)
	require.NoError(t, err)
	all := make([][]*Seat, goroutines)
	each := func(do func(i int)) {
		var begin, end sync.WaitGroup
		begin.Add(1)
		for i := range goroutines {
			end.Go(func() {
				begin.Wait()
				do(i)
			})
		}
		begin.Done()
		end.Wait()
	}
	each(func(i int) {
		for range seats {
			s, err := gate.Join(1)
			if err == nil {
				all[i] = append(all[i], s)
			}
		}
	})
	require.Len(t, gate.roster.Load().seats, goroutines*seats)
	for i := range all {
		for _, s := range all[i] {
			yes, err := s.Ask(resources.Vector{1}, time.Unix(1, 0))
			require.NoError(t, err)
			if yes {
				s.Keep()
				require.NoError(t, s.Return(resources.Vector{1}))
			}
			s.Rest()
		}
	}
	returned := sumOfReturns(gate)
	require.Positive(t, returned)
	each(func(i int) {
		for _, s := range all[i] {
			s.Leave()
		}
	})
	require.Empty(t, gate.roster.Load().seats)
	require.Equal(t, returned, sumOfReturns(gate))
}

func sumOfReturns(g *Gate) uint64 {
	r := g.roster.Load()
	sum := r.returned
	for _, s := range r.seats {
		sum += s.returned.load()
	}
	return sum
}
