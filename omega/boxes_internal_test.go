package omega

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Each machine with room is in one leaf, of the tree of its capacity, within the bounds of
// all boxes above it. No other machine is in a leaf.
func TestBoxes_KeepTheInvariant(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var cfg Config
	for i := range 2 * boxedFrom {
		cfg.Machines = append(cfg.Machines, Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{100, int64(50 + i%2)}})
	}
	cell, err := NewCell(cfg)
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	snap := s.Snapshot()
	for range 60 {
		for range r.IntN(200) {
			m := snap.ids[r.IntN(snap.Len())].id
			switch r.IntN(8) {
			case 0:
				_ = cell.Drain(m)
			case 1:
				_ = cell.Resume(m)
			case 2:
				_ = cell.SetCapacity(m, resources.Vector{100, int64(50 + r.IntN(4))})
			default:
				snap.Take(m, resources.Vector{r.Int64N(20), r.Int64N(9)})
			}
		}
		if r.IntN(3) == 0 {
			snap.Refresh(time.Time{})
		}
		snap.Find(Query{Need: resources.Vector{r.Int64N(90), r.Int64N(40)}}, BestFit())
		checkBoxes(t, snap)
	}
}

func checkBoxes(t *testing.T, snap *Snapshot) {
	t.Helper()
	b, listed := snap.index.boxes, make(map[int32]int)
	for i, root := range b.roots {
		require.Equal(t, int32(i), b.root[root.capacity])
		var walk func(id int32, above []int32)
		walk = func(id int32, above []int32) {
			at := &b.all[id]
			above = append(above, id)
			if at.children[0] != none {
				require.Empty(t, at.machines)
				walk(at.children[0], above)
				walk(at.children[1], above)
				return
			}
			for _, node := range at.machines {
				listed[node]++
				require.Equal(t, id, b.leaf[node])
				require.Equal(t, root.capacity, snap.val[node].spec.Capacity)
				for _, up := range above {
					box := &b.all[up]
					require.True(t, box.low.Fits(snap.free[node]) && snap.free[node].Fits(box.high) && box.least <= node, "machine %d in box %d", node, up)
				}
			}
		}
		walk(root.box, nil)
	}
	for node := range snap.free {
		want := 1
		if snap.free[node] == closed {
			want = 0
		}
		require.Equal(t, want, listed[int32(node)], "machine %d", node)
	}
}
