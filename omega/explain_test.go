package omega_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A machine that does not fit for several reasons counts once, by the first in the order
// of the fields, and of the kinds.
func TestExplain_CountsEachMachineOnce(t *testing.T) {
	const (
		removed = 1 << iota
		draining
		forbidden
		filtered
		small
		short
		reasons = iota
	)
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	other := register(t, cell, "other")
	var permitted []locality.Node
	want := omega.Explanation{Machines: 1 << reasons}
	// One machine for each combination of reasons.
	for why := range 1 << reasons {
		capacity := resources.Vector{10, 10, 10}
		if why&small > 0 {
			capacity[1], capacity[2] = 4, 4
		}
		m, err := cell.Add(omega.Machine{Name: fmt.Sprint(why), Capacity: capacity})
		require.NoError(t, err)
		if why&short > 0 {
			held(t, other, m, 0, resources.Vector{0, 0, 4})
		}
		if why&draining > 0 {
			require.NoError(t, cell.Drain(m))
		}
		if why&forbidden == 0 {
			permitted = append(permitted, m.Node())
		}
		switch {
		case why&removed > 0:
			want.Removed++
		case why&draining > 0:
			want.Draining++
		case why&forbidden > 0:
			want.Forbidden++
		case why&filtered > 0:
			want.Filtered++
		case why&small > 0:
			want.Small[1]++
		case why&short > 0:
			want.Short[2]++
		default:
			want.Fit++
		}
	}
	for m := range cell.Machines() { // only now, or their numbers would be used again
		if m.ID.Node()&removed > 0 {
			_, err := cell.Remove(m.ID)
			require.NoError(t, err)
		}
	}
	s, err := cell.Register("s", omega.Limits{Machines: omega.NewMask(amongst(permitted))})
	require.NoError(t, err)
	q := omega.Query{
		Need:  resources.Vector{1, 7, 7},
		Allow: func(n locality.Node) bool { return n&filtered == 0 },
	}
	got := s.Snapshot().Explain(q)
	require.Equal(t, want, got)
	require.Equal(t, "1 of 64 machines will do, 32 removed, 16 draining, 8 not permitted, 4 not allowed,"+
		" 2 too small in kind1, 1 short of kind2", got.String())

	q.Among = amongst([]locality.Node{0, 0, draining, small, 1 << reasons})
	got = s.Snapshot().Explain(q)
	require.Equal(t, "2 of 4 machines will do, 1 draining, 1 too small in kind1", got.String(), "as often as they are listed")
}

// The missing part is that of the machine that lacks the smallest part. A machine that
// has the need in use comes before one that could never have it.
func TestExplain_NamesWhatIsMissing(t *testing.T) {
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "memory"})
	require.NoError(t, err)
	tests := map[string]struct {
		capacity, used []resources.Vector
		missing        resources.Vector
		text           string
	}{
		"the only machine": {
			[]resources.Vector{{8, 8}},
			[]resources.Vector{{6}},
			resources.Vector{2},
			"1 short of cpu, missing cpu=2 on the nearest",
		},
		"two kinds": {
			[]resources.Vector{{8, 8}},
			[]resources.Vector{{8, 5}},
			resources.Vector{4, 1},
			"1 short of cpu, missing cpu=4,memory=1 on the nearest",
		},
		"less of a kind, though more of another": {
			[]resources.Vector{{8, 8}, {8, 8}, {8, 8}},
			[]resources.Vector{{7, 0}, {6, 6}, {8, 4}},
			resources.Vector{2, 2},
			"3 short of cpu, missing cpu=2,memory=2 on the nearest",
		},
		"the first of equals": {
			[]resources.Vector{{8, 8}, {8, 8}},
			[]resources.Vector{{6, 0}, {0, 6}},
			resources.Vector{2},
			"1 short of cpu, 1 short of memory, missing cpu=2 on the nearest",
		},
		"a machine that is too small but nearer": {
			[]resources.Vector{{3, 8}, {4, 8}},
			[]resources.Vector{{}, {4}},
			resources.Vector{4},
			"1 too small in cpu, 1 short of cpu, missing cpu=4 on the nearest",
		},
		"machines that are too small": {
			[]resources.Vector{{1, 8}, {3, 8}},
			[]resources.Vector{{}, {3}},
			resources.Vector{1},
			"2 too small in cpu, missing cpu=1 on the nearest",
		},
		"a machine that will do": {
			[]resources.Vector{{4, 8}, {4, 8}},
			[]resources.Vector{{}, {4}},
			resources.Vector{},
			"1 short of cpu",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, err := omega.NewCell(omega.Config{Space: space})
			require.NoError(t, err)
			holder := register(t, cell, "holder")
			for i, capacity := range tt.capacity {
				m, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: capacity})
				require.NoError(t, err)
				if tt.used[i] != (resources.Vector{}) {
					held(t, holder, m, 0, tt.used[i])
				}
			}
			e := register(t, cell, "s").Snapshot().Explain(omega.Query{Need: resources.Vector{4, 4}})
			require.Equal(t, tt.missing, e.Missing)
			require.Equal(t, fmt.Sprintf("%d of %d machines will do, ", e.Fit, len(tt.capacity))+tt.text, e.String())
		})
	}
}

// Room that the scheduler has taken in its snapshot is in use for its own searches.
func TestExplain_CountsWhatWasTaken(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{3})
	snap := register(t, cell, "s").Snapshot()
	require.True(t, snap.Take(ids[0], resources.Vector{2}))
	q := omega.Query{Need: resources.Vector{2}}
	require.Equal(t, "1 of 2 machines will do, 1 short of kind0", snap.Explain(q).String())
	snap.Refresh(time.Time{})
	require.Equal(t, "2 of 2 machines will do", snap.Explain(q).String())
}

// A snapshot's age counts from its last refresh, and not from commits.
func TestSnapshot_AgeCountsFromTheRefresh(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{3})
	s := register(t, cell, "s")
	start := time.Unix(1000, 0)
	s.Snapshot().Refresh(start)
	require.Equal(t, time.Minute, s.Snapshot().Age(start.Add(time.Minute)))
	require.Equal(t, 1, commit(t, s, &omega.Txn{Now: start.Add(time.Hour)}, claim(ids[0], 1)))
	require.Equal(t, 2*time.Hour, s.Snapshot().Age(start.Add(2*time.Hour)))
	s.Snapshot().Refresh(start.Add(3 * time.Hour))
	require.Zero(t, s.Snapshot().Age(start.Add(3*time.Hour)))
}
