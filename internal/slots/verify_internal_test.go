package slots

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// spoiled is a solved net with a rack of two machines and a queue. At the rack
// sits one task, which has gone down to the first machine; one waits; no task may
// go to a machine itself, nor the one that waits elsewhere.
type spoiled struct {
	*Net
	rack, first, second, queue Loc
}

func newSpoiled(t *testing.T) spoiled {
	t.Helper()
	n := New()
	s := spoiled{Net: n, rack: n.AddGroup(Sink), queue: n.AddLeaf(Sink)}
	s.first, s.second = n.AddLeaf(s.rack), n.AddLeaf(s.rack)
	n.SetLeaf(s.first, 0, 1)
	n.SetLeaf(s.second, 0, 1)
	n.SetLeaf(s.queue, 0, 2)
	n.Add([]Option{{Base: 3, At: s.rack}})
	n.Add([]Option{{Base: 5, At: s.queue}})
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	require.Equal(t, int32(1), n.locs[s.first].down)
	return s
}

// Each of these is wrong in one way that all other figures agree with.
func TestVerify_FindsLoneFaults(t *testing.T) {
	tests := map[string]struct {
		spoil func(s spoiled)
		want  string
	}{
		"a free machine dearer than the sink": {
			func(s spoiled) { s.price[s.second]++ },
			"quincy: location 4 passes 0 of 1 on, at 1 above the sink: not optimal",
		},
		"a machine cheaper than its rack": {
			func(s spoiled) { s.price[s.second]-- },
			"quincy: location 4 at -1, in 1 at 0, 0 units: not optimal",
		},
		"a full machine dearer than the rack that sends there": {
			func(s spoiled) { s.price[s.first]++ },
			"quincy: location 3 at 1, in 1 at 0, 1 units: not optimal",
		},
		"a queue cheaper than the sink that passes on": {
			func(s spoiled) { s.price[s.queue]-- },
			"quincy: location 2 passes 1 of 2 on, at -1 above the sink: not optimal",
		},
		"more than a queue holds": {
			func(s spoiled) { s.locs[s.queue].capacity = 0 },
			"quincy: location 2 passes 1 of 0 on, at 0 above the sink: not optimal",
		},
		"a machine that draws from the sink what it keeps": {
			func(s spoiled) { s.locs[s.second].out, s.locs[s.second].demand, s.free = -1, 1, s.free+1 },
			"quincy: location 4 passes -1 of 1 on, at 0 above the sink: not optimal",
		},
		"units that go up": {
			func(s spoiled) {
				s.locs[s.second].down, s.locs[s.second].demand = -1, -1
				s.locs[s.first].down, s.locs[s.first].demand = 2, 1
			},
			"quincy: location 4: 0 units left over, 0 noted: not optimal",
		},
		"a slot that is counted twice": {
			func(s spoiled) { s.free++ },
			"quincy: 1 slots are free, 2 noted: not optimal",
		},
		"a sum that is not that of the places": {
			func(s spoiled) { s.total.add(-1) },
			"quincy: places cost 8, 7 noted: not optimal",
		},
		"an excess that is none": {
			func(s spoiled) { s.locs[s.rack].excess++ },
			"quincy: location 1: 0 units left over, 1 noted: not optimal",
		},
		"a unit too many": {
			func(s spoiled) { s.locs[s.queue].demand++ },
			"quincy: location 0: 1 units left over, 0 noted: not optimal",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpoiled(t)
			test.spoil(s)
			err := s.Verify()
			require.ErrorIs(t, err, ErrNotOptimal)
			require.EqualError(t, err, test.want)
		})
	}
}
