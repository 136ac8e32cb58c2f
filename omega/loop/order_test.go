package loop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// The report's omegaIter(sorting): the same demands, the same loop, another
// sorting. With DRF the accounts are those of its paper's example, 9 CPUs and
// 18 GB, and so are the turns they take (Ghodsi et al., NSDI 2011, table 1).
func TestLoop_SchedulesInTheOrderThatItIsGiven(t *testing.T) {
	total := resources.Vector{9, 18}
	fair := newByShare(total)
	tests := map[string]struct {
		order loop.Order[string]
		hook  func(loop.Event[string])
		want  []string
	}{
		"FIFO":       {order: loop.FIFO[string](), want: []string{"a1", "a2", "a3", "b1", "b2"}},
		"precedence": {order: loop.ByPrecedence[string](), want: []string{"b1", "a3", "a1", "a2", "b2"}},
		"DRF":        {order: fair, hook: fair.observe, want: []string{"a1", "b1", "a2", "b2", "a3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: total}}})
			require.NoError(t, err)
			a, b := accountOf(cell, "a"), accountOf(cell, "b")
			var got []string
			r := newRig(t, cell, loop.Config[string]{Order: test.order, Observe: func(e loop.Event[string]) {
				if e.Kind == loop.Complete {
					got = append(got, e.Pending.Job().Key)
				}
				if test.hook != nil {
					test.hook(e)
				}
			}})
			small, large := resources.Vector{1, 4}, resources.Vector{3, 1}
			for _, j := range []loop.Job[string]{
				{Key: "a1", Account: a, Need: small},
				{Key: "a2", Account: a, Need: small},
				{Key: "a3", Account: a, Need: small, Precedence: 5},
				{Key: "b1", Account: b, Need: large, Precedence: 9},
				{Key: "b2", Account: b, Need: large},
			} {
				j.Tasks = 1
				r.submit(t, epoch, j)
			}
			require.Zero(t, r.settle(t, epoch))
			require.Equal(t, test.want, got)
			require.NoError(t, cell.Check())
		})
	}
}

// FIFO and ByPrecedence against slices that are searched.
func TestOrder_AgreesWithASortedList(t *testing.T) {
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	rapid.Check(t, func(t *rapid.T) {
		l, err := loop.New(loop.Config[int]{Store: store})
		require.NoError(t, err)
		fifo := loop.FIFO[int]()
		ranked := loop.ByPrecedence[int]()
		var inOrder, byRank []*loop.Pending[int]
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				precedence := rapid.Int32Range(-2, 2).Draw(t, "precedence")
				p, err := l.Submit(epoch, loop.Job[int]{Tasks: 1, Need: resources.Vector{1}, Precedence: omega.Precedence(precedence)})
				require.NoError(t, err)
				fifo.Push(p)
				ranked.Push(p)
				inOrder, byRank = append(inOrder, p), append(byRank, p)
			},
			"next": func(t *rapid.T) {
				if len(inOrder) == 0 {
					require.Nil(t, fifo.Next())
					require.Nil(t, ranked.Next())
					return
				}
				require.Same(t, inOrder[0], fifo.Next())
				inOrder = inOrder[1:]
				best := 0
				for i, p := range byRank { // in order of arrival
					if p.Job().Precedence > byRank[best].Job().Precedence {
						best = i
					}
				}
				require.Same(t, byRank[best], ranked.Next())
				byRank = append(byRank[:best:best], byRank[best+1:]...)
			},
		})
	})
}
