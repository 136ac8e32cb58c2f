package drf_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// tenant is a user of a worked example, with one task's demand and how many
// tasks it has; 0 is without end.
type tenant struct {
	name   string
	demand resources.Vector
	weight float64
	tasks  int
}

// filling is progressive filling as a caller of the heap would write it.
type filling struct {
	t       *testing.T
	heap    *drf.Heap[string]
	free    resources.Vector
	tenants map[string]*tenant
	started map[string]int
}

func newFilling(t *testing.T, total resources.Vector, tenants ...tenant) *filling {
	t.Helper()
	h, err := drf.New[string](total)
	require.NoError(t, err)
	f := &filling{t: t, heap: h, free: total, tenants: make(map[string]*tenant), started: make(map[string]int)}
	for _, x := range tenants {
		f.arrive(x)
	}
	return f
}

func (f *filling) arrive(x tenant) {
	f.t.Helper()
	if x.weight == 0 {
		x.weight = 1
	}
	f.tenants[x.name] = &x
	u, err := f.heap.Add(x.name, x.weight)
	require.NoError(f.t, err)
	require.NoError(f.t, f.heap.Demand(u, x.demand))
}

// start starts one task, if one fits.
func (f *filling) start() (name string, ok bool) {
	f.t.Helper()
	u, ok := f.heap.Pick(f.free)
	if !ok {
		return "", false
	}
	name, ok = f.heap.Key(u)
	require.True(f.t, ok)
	x := f.tenants[name]
	require.NoError(f.t, f.heap.Charge(u, x.demand))
	f.free, ok = f.free.Sub(x.demand)
	require.True(f.t, ok)
	if f.started[name]++; f.started[name] == x.tasks {
		require.NoError(f.t, f.heap.Park(u))
	}
	return name, true
}

// fill starts all that fits and returns the users, in order.
func (f *filling) fill() string {
	f.t.Helper()
	var order strings.Builder
	for {
		name, ok := f.start()
		if !ok {
			return order.String()
		}
		order.WriteString(name)
	}
}

func (f *filling) end(name string) {
	f.t.Helper()
	u, ok := f.heap.User(name)
	require.True(f.t, ok)
	require.NoError(f.t, f.heap.Credit(u, f.tenants[name].demand))
	f.free = f.free.Add(f.tenants[name].demand)
	f.started[name]--
}

func (f *filling) requireShare(name string, share float64, kind resources.Kind) {
	f.t.Helper()
	u, ok := f.heap.User(name)
	require.True(f.t, ok)
	got, of, ok := f.heap.Share(u)
	require.True(f.t, ok)
	require.Equal(f.t, share, got, "share of %s", name)
	require.Equal(f.t, kind, of, "dominant kind of %s", name)
}

// Section 4.1 and Table 1: 9 CPUs and 18 GB, A's tasks take 1 and 4, B's 3 and
// 1. A's dominant resource is memory, B's is CPU.
func TestPick_FollowsThePapersExampleStepByStep(t *testing.T) {
	const cpu, memory = 0, 1
	f := newFilling(t, resources.Vector{9, 18},
		tenant{name: "A", demand: resources.Vector{1, 4}}, tenant{name: "B", demand: resources.Vector{3, 1}})
	steps := []struct {
		next           string
		shareA, shareB float64
		free           resources.Vector
	}{
		{"A", 4.0 / 18, 0, resources.Vector{8, 14}},
		{"B", 4.0 / 18, 3.0 / 9, resources.Vector{5, 13}},
		{"A", 8.0 / 18, 3.0 / 9, resources.Vector{4, 9}},
		{"B", 8.0 / 18, 6.0 / 9, resources.Vector{1, 8}},
		{"A", 12.0 / 18, 6.0 / 9, resources.Vector{0, 4}},
	}
	for i, s := range steps {
		name, ok := f.start()
		require.True(t, ok)
		require.Equal(t, s.next, name, "step %d", i+1)
		f.requireShare("A", s.shareA, memory)
		if s.shareB > 0 {
			f.requireShare("B", s.shareB, cpu)
		}
		require.Equal(t, s.free, f.free)
	}
	_, ok := f.start()
	require.False(t, ok, "no CPU is left")
}

func TestPick_FillsLikeTheWorkedExamples(t *testing.T) {
	tests := map[string]struct {
		total   resources.Vector
		tenants []tenant
		order   string
		free    resources.Vector
	}{
		"NSDI 2011, Table 1, with the tie at the start broken the other way": {
			total:   resources.Vector{9, 18},
			tenants: []tenant{{name: "B", demand: resources.Vector{3, 1}}, {name: "A", demand: resources.Vector{1, 4}}},
			order:   "BAABA",
			free:    resources.Vector{0, 4},
		},
		"NSDI 2011, section 6: where asset fairness gives B less than half of both": {
			total:   resources.Vector{30, 30},
			tenants: []tenant{{name: "A", demand: resources.Vector{1, 3}}, {name: "B", demand: resources.Vector{1, 1}}},
			order:   "ABBBABBBABBBABBBABBB",
			free:    resources.Vector{10, 0},
		},
		"YARN's DominantResourceCalculator explained: 100 CPUs, 10,000 GB": {
			total:   resources.Vector{100, 10_000},
			tenants: []tenant{{name: "A", demand: resources.Vector{2, 300}}, {name: "B", demand: resources.Vector{6, 100}}},
			order:   strings.Repeat("ABA", 10),
			free:    resources.Vector{0, 3_000},
		},
		"NSDI 2011, section 4.3: A counts double": {
			total: resources.Vector{9, 18},
			tenants: []tenant{
				{name: "A", demand: resources.Vector{1, 4}, weight: 2},
				{name: "B", demand: resources.Vector{3, 1}},
			},
			order: "ABAAA",
			free:  resources.Vector{2, 1},
		},
		"one resource runs out and users without a need of it go on": {
			total: resources.Vector{12, 12, 12},
			tenants: []tenant{
				{name: "A", demand: resources.Vector{3, 1, 0}},
				{name: "B", demand: resources.Vector{1, 0, 2}},
				{name: "C", demand: resources.Vector{0, 1, 3}},
			},
			order: "ABCBACBA",
			free:  resources.Vector{0, 7, 0},
		},
		"demands that leave out a kind": {
			total: resources.Vector{12, 12},
			tenants: []tenant{
				{name: "A", demand: resources.Vector{1, 0}},
				{name: "B", demand: resources.Vector{0, 1}},
				{name: "C", demand: resources.Vector{1, 1}},
			},
			order: strings.Repeat("ABC", 6),
		},
		"a kind of which the cell has none": {
			total:   resources.Vector{8, 0},
			tenants: []tenant{{name: "A", demand: resources.Vector{1, 0}}, {name: "B", demand: resources.Vector{2, 0}}},
			order:   "ABAABA",
		},
		"a demand for a kind of which the cell has none never fits": {
			total:   resources.Vector{4, 0},
			tenants: []tenant{{name: "Z", demand: resources.Vector{1, 1}}, {name: "A", demand: resources.Vector{1, 0}}},
			order:   "AAAA",
		},
		"large tasks that do not fit are passed over": {
			total:   resources.Vector{100, 100},
			tenants: []tenant{{name: "A", demand: resources.Vector{40, 1}}, {name: "B", demand: resources.Vector{10, 1}}},
			order:   "ABBBBBB",
			free:    resources.Vector{0, 93},
		},
		"a user that wants less than its share leaves the rest to the others": {
			total: resources.Vector{12, 12},
			tenants: []tenant{
				{name: "A", demand: resources.Vector{1, 1}, tasks: 2},
				{name: "B", demand: resources.Vector{1, 2}},
				{name: "C", demand: resources.Vector{2, 1}},
			},
			order: "ABCABCBC",
			free:  resources.Vector{1, 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFilling(t, test.total, test.tenants...)
			require.Equal(t, test.order, f.fill())
			require.Equal(t, test.free, f.free)
		})
	}
}

// The paper's Algorithm 1 ends when the poorest does not fit. With a heap that
// passes it over, a caller stops when the one picked is not the poorest.
func TestPick_CanBeStoppedWhereThePaperStops(t *testing.T) {
	total := resources.Vector{100, 100}
	f := newFilling(t, total,
		tenant{name: "A", demand: resources.Vector{40, 1}}, tenant{name: "B", demand: resources.Vector{10, 1}})
	var order strings.Builder
	for {
		poorest, ok := f.heap.Pick(total) // each task fits in the whole cell
		require.True(t, ok)
		next, ok := f.heap.Pick(f.free)
		if !ok || next != poorest {
			break
		}
		name, _ := f.start()
		order.WriteString(name)
	}
	require.Equal(t, "ABBBB", order.String())
	require.Equal(t, resources.Vector{20, 95}, f.free)
}

// A late user gets its share from tasks that end, and then it is held.
func TestPick_LetsALateUserCatchUp(t *testing.T) {
	f := newFilling(t, resources.Vector{9, 18}, tenant{name: "A", demand: resources.Vector{1, 4}})
	require.Equal(t, "AAAA", f.fill())
	f.arrive(tenant{name: "B", demand: resources.Vector{3, 1}})
	require.Equal(t, "B", f.fill())
	for _, starts := range []string{"B", "A", "A"} {
		f.end("A")
		require.Equal(t, starts, f.fill())
		require.Equal(t, map[string]int{"A": 3, "B": 2}, f.started)
		require.Equal(t, resources.Vector{0, 4}, f.free)
	}
}

// The state after each step of three tests of Apache Mesos's sorter
// (sorter_tests.cpp): users come and go, and totals and weights change.
func TestAll_OrdersLikeTheSorterOfMesos(t *testing.T) {
	type state struct {
		total   resources.Vector
		alloc   map[string]resources.Vector
		weights map[string]float64 // 1 where absent
		order   string
	}
	hundred := resources.Vector{100, 100}
	tests := map[string][]state{
		"DRF": {
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}}, nil, "ab"},
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}, "c": {1, 1}, "d": {3, 1}}, nil, "cdab"},
			{hundred, map[string]resources.Vector{"b": {2, 2}, "c": {1, 1}, "d": {3, 1}}, nil, "cbd"},
			{resources.Vector{50, 100}, map[string]resources.Vector{"b": {2, 2}, "c": {1, 1}, "d": {3, 1}, "e": {1, 5}}, nil, "cbed"},
			{resources.Vector{50, 200}, map[string]resources.Vector{"b": {2, 2}, "c": {1, 16}, "d": {3, 1}, "e": {1, 5}, "f": {5, 1}}, nil, "ebdcf"},
		},
		"WDRF": {
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}}, map[string]float64{"b": 2}, "ba"},
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}, "c": {4, 4}}, map[string]float64{"b": 2}, "bca"},
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}, "c": {4, 4}, "d": {10, 20}}, map[string]float64{"b": 2, "d": 10}, "dbca"},
			{hundred, map[string]resources.Vector{"a": {5, 5}, "c": {4, 4}, "d": {20, 45}}, map[string]float64{"d": 10}, "cda"},
			{hundred, map[string]resources.Vector{"a": {5, 5}, "c": {4, 4}, "d": {20, 45}, "e": {1, 1}}, map[string]float64{"d": 10, "e": 0.1}, "cdae"},
		},
		"UpdateWeight": {
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}}, nil, "ab"},
			{hundred, map[string]resources.Vector{"a": {5, 5}, "b": {6, 6}}, map[string]float64{"b": 2}, "ba"},
		},
	}
	for name, states := range tests {
		t.Run(name, func(t *testing.T) {
			h, err := drf.New[string](hundred)
			require.NoError(t, err)
			for _, s := range states { // one heap is led from state to state
				require.NoError(t, h.SetTotal(s.total))
				for u := range h.All() {
					key, _ := h.Key(u)
					usage, _ := h.Usage(u)
					require.NoError(t, h.Credit(u, usage))
					if _, stays := s.alloc[key]; !stays {
						require.NoError(t, h.Remove(u))
					}
				}
				for _, key := range slices.Sorted(strings.SplitSeq("a b c d e f", " ")) {
					alloc, there := s.alloc[key]
					if !there {
						continue
					}
					u, ok := h.User(key)
					if !ok {
						u, err = h.Add(key, 1)
						require.NoError(t, err)
					}
					weight := s.weights[key]
					if weight == 0 {
						weight = 1
					}
					require.NoError(t, h.SetWeight(u, weight))
					require.NoError(t, h.Charge(u, alloc))
				}
				var order strings.Builder
				for u := range h.All() {
					key, _ := h.Key(u)
					order.WriteString(key)
				}
				require.Equal(t, s.order, order.String())
			}
		})
	}
}
