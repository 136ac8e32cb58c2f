package omega_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestChooseVictims_NamesThem(t *testing.T) {
	type vec = resources.Vector
	tests := map[string]struct {
		need, room vec
		of         []omega.Candidate
		most       int64 // of kind 0 that may be lost, any amount if 0
		want       []int
		none       bool
	}{
		"none where it fits":                {need: vec{2}, room: vec{2}, of: []omega.Candidate{{Need: vec{1}}}},
		"none of nobody":                    {need: vec{1}, none: true},
		"the lowest rank":                   {need: vec{1}, of: []omega.Candidate{{Need: vec{1}, Rank: 2}, {ID: 1, Need: vec{1}, Rank: -1}}, want: []int{1}},
		"the youngest of a rank":            {need: vec{1}, of: []omega.Candidate{{Need: vec{1}, Started: 3}, {ID: 1, Need: vec{1}, Started: 2}}, want: []int{0}},
		"of equally old ones the later":     {need: vec{1}, of: []omega.Candidate{{Need: vec{1}}, {ID: 1, Need: vec{1}}}, want: []int{1}},
		"with what is free":                 {need: vec{3}, room: vec{2}, of: []omega.Candidate{{Need: vec{1}}}, want: []int{0}},
		"none that has none of what lacks":  {need: vec{1, 1}, room: vec{0, 1}, of: []omega.Candidate{{Need: vec{1}}, {ID: 1, Need: vec{0, 5}, Rank: -1}}, want: []int{0}},
		"none that another makes needless":  {need: vec{3}, of: []omega.Candidate{{Need: vec{1}, Started: 2}, {ID: 1, Need: vec{3}, Started: 1}}, want: []int{1}},
		"the dearest is spared first":       {need: vec{5}, of: []omega.Candidate{{Need: vec{2}, Rank: 1}, {ID: 1, Need: vec{2}}, {ID: 2, Need: vec{3}, Rank: 2}}, want: []int{1, 2}},
		"none where all are too few":        {need: vec{5}, of: []omega.Candidate{{Need: vec{2}}, {ID: 1, Need: vec{2}}}, none: true},
		"one alone, where two are too many": {need: vec{4}, of: []omega.Candidate{{Need: vec{4}}, {ID: 1, Need: vec{3}, Started: 1}}, most: 4, want: []int{0}},
		"one alone before a higher rank": {
			need: vec{4}, of: []omega.Candidate{{Need: vec{4}}, {ID: 1, Need: vec{3}, Started: 1}, {ID: 2, Need: vec{1}, Rank: 1}}, most: 4, want: []int{0},
		},
		"a higher rank besides, where none is enough alone": {
			need: vec{5}, of: []omega.Candidate{{Need: vec{4}}, {ID: 1, Need: vec{3}, Started: 1}, {ID: 2, Need: vec{2}, Rank: 1}}, most: 5, want: []int{1, 2},
		},
		"none without what lacks, which would use up the losses": {
			need: vec{0, 4}, of: []omega.Candidate{{Need: vec{5}, Started: 9}, {ID: 1, Need: vec{1, 2}}, {ID: 2, Need: vec{1, 2}}}, most: 5, want: []int{2, 1},
		},
		"none where the losses are too large": {need: vec{4}, of: []omega.Candidate{{Need: vec{4}}}, most: 3, none: true},
		"less than nothing":                   {need: vec{-1}, room: vec{4}, of: []omega.Candidate{{Need: vec{4}}}, none: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var lost int64
			lose := func(c omega.Candidate) bool {
				if tt.most > 0 && lost+c.Need[0] > tt.most {
					return false
				}
				lost += c.Need[0]
				return true
			}
			got, ok := omega.ChooseVictims(tt.need, tt.room, omega.InOrder(tt.of), lose, func(c omega.Candidate) { lost -= c.Need[0] })
			require.Equal(t, !tt.none, ok)
			require.Equal(t, tt.want, got.IDs)
			require.Zero(t, lost, "losses are taken back")
		})
	}
}

// Each choice makes room, has no victim that could be spared, and keeps to the losses that
// owners bear. One is found where one candidate is enough, or where all may be lost.
func TestChooseVictims_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 4)
		vector := rapid.Custom(func(t *rapid.T) resources.Vector {
			return resources.Vector{amount.Draw(t, "a"), amount.Draw(t, "b"), amount.Draw(t, "c")}
		})
		need, room := vector.Draw(t, "need").Scale(2), vector.Draw(t, "room")
		all := make([]omega.Candidate, rapid.IntRange(0, 8).Draw(t, "candidates"))
		owner := make([]int, len(all))
		for i := range all {
			all[i] = omega.Candidate{
				ID: i, Need: vector.Draw(t, "held"), Rank: rapid.IntRange(-1, 1).Draw(t, "rank"),
				Started: rapid.Int64Range(0, 3).Draw(t, "start"), Loss: rapid.Int64Range(0, 3).Draw(t, "loss"),
			}
			owner[i] = rapid.IntRange(0, 2).Draw(t, "owner")
		}
		var most, lost [3]int64
		for i := range most {
			most[i] = rapid.Int64Range(0, 8).Draw(t, "most")
		}
		lose := func(c omega.Candidate) bool {
			if o := owner[c.ID]; lost[o]+c.Need[0] <= most[o] {
				lost[o] += c.Need[0]
				return true
			}
			return false
		}
		keep := func(c omega.Candidate) { lost[owner[c.ID]] -= c.Need[0] }
		fits := func(set ...int) bool {
			sum := room
			for _, i := range set {
				sum = sum.Add(all[i].Need)
			}
			return need.Fits(sum)
		}
		borne := func(set ...int) bool {
			var sum [3]int64
			for _, i := range set {
				sum[owner[i]] += all[i].Need[0]
			}
			return sum[0] <= most[0] && sum[1] <= most[1] && sum[2] <= most[2]
		}
		got, ok := omega.ChooseVictims(need, room, omega.InOrder(slices.Clone(all)), lose, keep)
		require.Zero(t, lost)

		everyone, useful := []int{}, []int{}
		must := fits()
		lowest := 2
		for i := range all {
			everyone = append(everyone, i)
			if all[i].Need[0] > 0 || all[i].Need[1] > 0 || all[i].Need[2] > 0 {
				useful = append(useful, i)
			}
			if fits(i) && borne(i) {
				must, lowest = true, min(lowest, all[i].Rank)
			}
		}
		if must = must || fits(everyone...) && borne(useful...); !ok {
			require.False(t, must)
			require.Empty(t, got.IDs)
			return
		}
		require.True(t, fits(got.IDs...))
		require.True(t, borne(got.IDs...))
		loss, rank, oldest := int64(0), -2, int64(4)
		for n, i := range got.IDs {
			require.False(t, fits(slices.Delete(slices.Clone(got.IDs), n, n+1)...), "victim %d could be spared", i)
			loss, rank, oldest = loss+all[i].Loss, max(rank, all[i].Rank), min(oldest, all[i].Started)
			if n > 0 {
				require.GreaterOrEqual(t, all[i].Rank, all[got.IDs[n-1]].Rank)
			}
		}
		if len(got.IDs) > 0 {
			require.Equal(t, omega.Victims{IDs: got.IDs, Rank: rank, Loss: loss, Oldest: oldest}, got)
			require.LessOrEqual(t, rank, lowest)
		}
	})
}

func TestVictims_CompareByRankLossNumberLevelAndAge(t *testing.T) {
	order := []omega.Victims{ // each before the next
		{Rank: -1, Loss: 9, IDs: []int{1, 2, 3}, Level: 3, Oldest: 0},
		{Rank: 0, Loss: 1, IDs: []int{1, 2, 3}, Level: 3, Oldest: 0},
		{Rank: 0, Loss: 2, IDs: []int{1}, Level: 3, Oldest: 0},
		{Rank: 0, Loss: 2, IDs: []int{1, 2}, Level: 0, Oldest: 0},
		{Rank: 0, Loss: 2, IDs: []int{1, 2}, Level: 1, Oldest: 9},
		{Rank: 0, Loss: 2, IDs: []int{1, 2}, Level: 1, Oldest: 8},
	}
	for i := range order {
		for j := range order {
			d := order[i].Compare(&order[j])
			require.Equal(t, i < j, d < 0, "%d and %d", i, j)
			require.Equal(t, i == j, d == 0, "%d and %d", i, j)
		}
	}
}

// Three machines of 8 CPUs are full: with tasks of precedence 1 and 2 of 4, of 1, and of 2.
func TestFindOrPreempt_ChoosesTheMachine(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	var ids []omega.MachineID
	for i, n := range []int64{8, 8, 8, 2} {
		id, err := cell.Add(omega.Machine{Name: strconv.Itoa(i), Capacity: resources.Vector{n}})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	low, err := cell.Register("low", omega.Limits{Highest: 9})
	require.NoError(t, err)
	put := func(m, cpu int, p omega.Precedence) {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: ids[m], Need: resources.Vector{int64(cpu)}, Precedence: p})
		granted, err := low.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
	}
	put(0, 4, 1)
	put(0, 4, 2)
	for range 8 {
		put(1, 1, 1)
	}
	for range 4 {
		put(2, 2, 1)
	}
	put(3, 1, 0)
	high, err := cell.Register("high", omega.Limits{Highest: 9})
	require.NoError(t, err)
	snap := high.Snapshot()
	find := func(q omega.Query, r omega.Ranking) (int, int) {
		snap.Refresh(time.Time{})
		m, victims, ok := snap.FindOrPreempt(q, omega.NextFit(), r)
		if !ok {
			require.Empty(t, victims)
			return -1, 0
		}
		for _, v := range victims {
			require.Equal(t, m.Node(), v.Node())
		}
		return int(m.Node()), len(victims)
	}
	need := func(n int64) omega.Query { return omega.Query{Need: resources.Vector{n}} }
	check := func(m, victims int, q omega.Query, r omega.Ranking) {
		gotM, gotV := find(q, r)
		require.Equal(t, []int{m, victims}, []int{gotM, gotV})
	}
	check(3, 0, need(1), omega.RankBelow(9)) // fits as it is
	check(3, 1, need(2), omega.RankBelow(9)) // precedence 0
	check(0, 1, need(4), omega.RankBelow(9)) // the same loss, and the fewest
	check(1, 3, need(3), omega.RankBelow(9)) // the smallest loss
	check(2, 4, need(8), omega.RankBelow(9)) // the lowest highest rank, then the fewest
	check(-1, 0, need(2), omega.RankBelow(0))
	check(-1, 0, need(9), omega.RankBelow(9))
	check(-1, 0, need(-1), omega.RankBelow(9))

	only := need(4)
	only.Allow = func(n locality.Node) bool { return n == 2 }
	check(2, 2, only, omega.RankBelow(9))
	only = need(4)
	only.Among = slices.Values([]locality.Node{1, 2, 77})
	check(2, 2, only, omega.RankBelow(9))
	near, but3 := omega.RankBelow(9), need(2)
	but3.Allow = func(n locality.Node) bool { return n != 3 }
	near.Loss = func(omega.Allocation) int64 { return 0 }
	check(0, 1, but3, near) // the lowest number
	near.Level = func(n locality.Node) locality.Level { return locality.Level(2 - min(n, 2)) }
	check(2, 1, but3, near) // the nearest
	near.Level, near.Started = nil, func(a omega.Allocation) int64 { return int64(a.Machine.Node()) }
	check(2, 1, but3, near) // the youngest
	near.Lose = func(a omega.Allocation, room resources.Vector) bool {
		return a.Machine.Node() != 2 && room == resources.Vector{}
	}
	near.Keep = func(omega.Allocation) {}
	check(0, 1, but3, near)
	check(3, 0, omega.Query{}, omega.RankBelow(9)) // next fit
	check(-1, 0, need(2), omega.Ranking{})

	require.NoError(t, high.Restrict(t.Context(), omega.NewMask(slices.Values([]locality.Node{1}))))
	check(1, 4, need(4), omega.RankBelow(9))

	snap.Refresh(time.Time{})
	m, victims, ok := snap.FindOrPreempt(need(4), omega.NextFit(), omega.RankBelow(9))
	require.True(t, ok)
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	tx.Claim(omega.Claim{Machine: m, Need: need(4).Need, Precedence: 9, Victims: victims})
	granted, err := high.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
}

// Room that the scheduler has taken in its snapshot makes no room for the need.
func TestFindOrPreempt_LeavesTakenRoomAlone(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{8})
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{4}})
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	snap := register(t, cell, "mine").Snapshot()
	require.True(t, snap.Take(ids[0], resources.Vector{3}))
	_, victims, ok := snap.FindOrPreempt(omega.Query{Need: resources.Vector{5}}, omega.NextFit(), omega.RankBelow(1))
	require.True(t, ok)
	require.Len(t, victims, 1)
	_, _, ok = snap.FindOrPreempt(omega.Query{Need: resources.Vector{6}}, omega.NextFit(), omega.RankBelow(1))
	require.False(t, ok)
}

// A scheduler may claim at several precedences. The need leaves room for the reservations
// that its claim has to leave room for, and for no other.
func TestFindOrPreempt_TakesReservedRoomByTheClaimsPrecedence(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	low, err := cell.Register("low", omega.Limits{Highest: 3})
	require.NoError(t, err)
	held, err := send(t, low, claim(ids[0], 2))
	require.NoError(t, err)
	reserved(t, low, later, omega.Claim{Machine: ids[0], Need: resources.Vector{4}, Precedence: 3})
	high, err := cell.Register("high", omega.Limits{Highest: 5})
	require.NoError(t, err)
	only5, err := cell.Register("only 5", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)

	all := omega.Ranking{Of: func(omega.Allocation, resources.Vector) (int, bool) { return 0, true }}
	at := func(p omega.Precedence) omega.Ranking { r := omega.RankBelow(p); r.Of = all.Of; return r }
	tests := map[string]struct {
		by      *omega.Scheduler
		need    int64
		ranking omega.Ranking
		victims []omega.AllocationID
		none    bool
	}{
		"room that is free":                {by: high, need: 2, ranking: omega.RankBelow(5)},
		"room of a victim":                 {by: high, need: 4, ranking: omega.RankBelow(5), victims: held},
		"at its precedence, it stays":      {by: high, need: 1, ranking: omega.RankBelow(3), none: true},
		"a ranking of one's own":           {by: high, need: 3, ranking: at(4), victims: held},
		"and at its precedence":            {by: high, need: 3, ranking: at(3), none: true},
		"of no precedence":                 {by: high, need: 1, ranking: all, none: true},
		"it claims at its lowest at least": {by: only5, need: 3, ranking: all, victims: held},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			snap := tt.by.Snapshot()
			snap.Refresh(clock)
			m, victims, ok := snap.FindOrPreempt(omega.Query{Need: resources.Vector{tt.need}}, omega.NextFit(), tt.ranking)
			require.Equal(t, !tt.none, ok)
			require.Equal(t, tt.victims, victims)
			if ok {
				require.Equal(t, ids[0], m)
			}
		})
	}
	_, err = sendAt(t, high, clock, omega.Claim{Machine: ids[0], Need: resources.Vector{4}, Precedence: 5, Victims: held})
	require.NoError(t, err, "the cell grants what was found")
}

// A reservation ends with its time, though no commit has met it yet.
func TestFindOrPreempt_TakesRoomOfAReservationThatIsOver(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	low := register(t, cell, "low")
	held, err := send(t, low, claim(ids[0], 3))
	require.NoError(t, err)
	reserved(t, low, later, omega.Claim{Machine: ids[0], Need: resources.Vector{4}})
	high, err := cell.Register("high", omega.Limits{Highest: 5})
	require.NoError(t, err)
	snap := high.Snapshot()
	ranking := omega.Ranking{Of: omega.RankBelow(5).Of} // without the precedence of the claim, each reservation stays

	for _, now := range []time.Time{clock, later.Add(-1), later} {
		want := now.Equal(later)
		snap.Refresh(now)
		_, victims, ok := snap.FindOrPreempt(omega.Query{Need: resources.Vector{2}}, omega.NextFit(), ranking)
		require.Equal(t, want, ok, now)
		if ok {
			require.Equal(t, held, victims)
			_, err = sendAt(t, high, now, omega.Claim{Machine: ids[0], Need: resources.Vector{2}, Precedence: 5, Victims: held})
			require.NoError(t, err, "the cell grants what was found")
		}
	}
}
