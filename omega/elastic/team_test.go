package elastic_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

const (
	low  = omega.Precedence(-10)
	high = omega.Precedence(10)
)

func newTeam(t require.TestingT, asked int) *elastic.Team {
	team, err := elastic.NewTeam(asked, elastic.Worker{
		Query: omega.Query{Need: resources.Vector{1}}, Precedence: high, Extra: low,
	})
	require.NoError(t, err)
	return team
}

// both is a scheduler that may claim at both precedences.
var both = omega.Limits{Lowest: low, Highest: high}

func precedences(s *omega.Scheduler) map[omega.Precedence]int {
	count := map[omega.Precedence]int{}
	for a := range s.Allocations() {
		count[a.Precedence]++
	}
	return count
}

func TestTeam_GrowsAndShrinks(t *testing.T) {
	cell := newCell(t, resources.Vector{10}, resources.Vector{10})
	s := register(t, cell, "mapreduce", both)
	team := newTeam(t, 4)

	require.NoError(t, resize(team, s, 3))
	require.Equal(t, map[omega.Precedence]int{high: 3}, precedences(s))
	require.NoError(t, resize(team, s, 9))
	require.Equal(t, map[omega.Precedence]int{high: 4, low: 5}, precedences(s))
	require.Equal(t, 9, team.Len())
	require.Equal(t, 5, team.Extra())
	first := slices.Collect(team.Workers())
	require.NoError(t, resize(team, s, 6))
	require.Equal(t, first[:6], slices.Collect(team.Workers()), "the youngest go")
	require.Equal(t, map[omega.Precedence]int{high: 4, low: 2}, precedences(s))
	require.NoError(t, resize(team, s, 2))
	require.Equal(t, map[omega.Precedence]int{high: 2}, precedences(s))
	require.NoError(t, resize(team, s, 100))
	require.Equal(t, map[omega.Precedence]int{high: 4, low: 16}, precedences(s), "as far as there is room")
	require.NoError(t, resize(team, s, 0))
	require.Empty(t, precedences(s))
	require.NoError(t, cell.Check())
}

// A scheduler that claims at a precedence in between takes the room of extra workers,
// never that of the workers asked for.
func TestTeam_ExtraWorkersGiveWay(t *testing.T) {
	cell := newCell(t, resources.Vector{10})
	s := register(t, cell, "mapreduce", both)
	service := register(t, cell, "service", omega.Limits{})
	team := newTeam(t, 4)
	require.NoError(t, resize(team, s, 10))

	tx := omega.Txn{Now: time.Unix(0, 0), Grace: omega.AtOnce}
	need := resources.Vector{5}
	victims, ok := cell.Victims(machineAt(cell, 0), need, 0)
	require.True(t, ok)
	tx.Claim(omega.Claim{Machine: machineAt(cell, 0), Need: need, Victims: victims})
	granted, err := service.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	_, ok = cell.Victims(machineAt(cell, 0), resources.Vector{2}, 0)
	require.False(t, ok, "one extra worker is left, the others were asked for")

	for mark := range s.Marked() {
		require.Equal(t, omega.Preempted, mark.Fate)
		require.True(t, team.Drop(mark.Allocation.ID))
		require.False(t, team.Drop(mark.Allocation.ID), "already forgotten")
		require.NoError(t, s.Release(mark.Allocation.ID))
	}
	require.Equal(t, 5, team.Len())
	require.Equal(t, 1, team.Extra())
	require.Equal(t, map[omega.Precedence]int{high: 4, low: 1}, precedences(s))
}

func TestTeam_ClaimsWhatWasAskedForFirst(t *testing.T) {
	cell := newCell(t, resources.Vector{10})
	s := register(t, cell, "mapreduce", both)
	team := newTeam(t, 4)
	require.NoError(t, resize(team, s, 6))
	ids := slices.Collect(team.Workers())
	require.True(t, team.Drop(ids[1]))
	require.NoError(t, s.Release(ids[1]))

	require.NoError(t, resize(team, s, 6))
	require.Equal(t, map[omega.Precedence]int{high: 4, low: 2}, precedences(s))
}

// A claim on a snapshot that is out of date is refused, and no worker is counted that
// is not there.
func TestTeam_CountsGrantedWorkersOnly(t *testing.T) {
	cell := newCell(t, resources.Vector{10})
	s := register(t, cell, "mapreduce", both)
	service := register(t, cell, "service", omega.Limits{})
	store := doubtful{Local: omega.Local{Scheduler: s}, before: func() {
		occupy(t, service, machineAt(cell, 0), resources.Vector{7})
	}}

	team := newTeam(t, 4)
	require.NoError(t, team.Resize(t.Context(), &store, time.Time{}, 6))
	require.Equal(t, 3, team.Len())
	require.Zero(t, team.Extra())
	require.Equal(t, map[omega.Precedence]int{high: 3}, precedences(s))
}

func TestTeam_StaysAsItIsOnAnError(t *testing.T) {
	cell := newCell(t, resources.Vector{10})
	s := register(t, cell, "mapreduce", both)
	team := newTeam(t, 4)
	require.NoError(t, resize(team, s, 6))

	err := resize(team, s, -1)
	require.ErrorIs(t, err, elastic.ErrJob)
	require.EqualError(t, err, "elastic: team resized to -1 workers, want 0 to 2147483647: invalid job")

	ended, end := context.WithCancel(t.Context())
	end()
	err = team.Resize(ended, omega.Local{Scheduler: s}, time.Time{}, 8)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 6, team.Len())

	successor, err := cell.Replace("mapreduce")
	require.NoError(t, err)
	for _, n := range []int{0, 8} {
		require.ErrorIs(t, resize(team, s, n), omega.ErrSuperseded)
		require.Equal(t, 6, team.Len())
	}
	require.NoError(t, resize(team, successor, 0))
	require.Empty(t, precedences(successor))
}

// Extra workers that the scheduler may not claim would be missing for ever, without a
// visible reason.
func TestTeam_SaysThatItsSchedulerMayNot(t *testing.T) {
	cell := newCell(t, resources.Vector{10})
	s := register(t, cell, "mapreduce", omega.Limits{Highest: high})
	team := newTeam(t, 4)
	err := resize(team, s, 6)
	require.ErrorIs(t, err, omega.ErrForbidden)
	require.EqualError(t, err, `elastic: worker at precedence 10, extra one at -10: claim on "node-0": precedence -10, want 0 to 10: claim is not permitted to the scheduler`)
	require.Equal(t, 4, team.Len(), "those asked for are there")
	require.Zero(t, team.Extra())
	require.Equal(t, map[omega.Precedence]int{high: 4}, precedences(s))

	held := resources.Vector{5}
	s = register(t, cell, "limited", omega.Limits{Held: &held, Lowest: low, Highest: high})
	team = newTeam(t, 2)
	s.Snapshot().Refresh(time.Time{})
	require.NoError(t, resize(team, s, 6), "a limit may have room later")
	require.Equal(t, 5, team.Len())
}

func TestNewTeam_RefusesBadInput(t *testing.T) {
	good := elastic.Worker{Query: omega.Query{Need: resources.Vector{1}}, Precedence: 1}
	_, err := elastic.NewTeam(0, good)
	require.ErrorIs(t, err, elastic.ErrJob)
	require.EqualError(t, err, "elastic: team of 0 workers asked for, want 1 to 2147483647: invalid job")
	if math.MaxInt > math.MaxInt32 { // else there is no number that is too large
		_, err = elastic.NewTeam(math.MaxInt, good)
		require.ErrorIs(t, err, elastic.ErrJob)
	}

	level := good
	level.Extra = 1
	_, err = elastic.NewTeam(3, level)
	require.ErrorIs(t, err, elastic.ErrJob)
	require.EqualError(t, err, "elastic: extra workers at precedence 1, want one below 1: invalid job")

	for _, need := range []resources.Vector{{}, {-1}} {
		bad := good
		bad.Query.Need = need
		_, err = elastic.NewTeam(3, bad)
		require.ErrorIs(t, err, resources.ErrQuantity)
	}
}

// Two teams in one cell, resized at random and preempted at random: the cell has
// what the teams think, and the model is two numbers.
func TestTeam_AgreesWithTheCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 24
		cell := newCell(t, resources.Vector{size / 2}, resources.Vector{size / 2})
		s := register(t, cell, "mapreduce", both)
		service := register(t, cell, "service", omega.Limits{})
		teams := []*elastic.Team{newTeam(t, 3), newTeam(t, 5)}
		asked := []int{3, 5}
		taken := 0 // by the service
		inDoubt := false
		preempt := func(t *rapid.T) {
			m := machineAt(cell, rapid.IntRange(0, 1).Draw(t, "machine"))
			victims, ok := cell.Victims(m, resources.Vector{1}, 0)
			if !ok {
				return
			}
			tx := omega.Txn{Now: time.Unix(0, 0), Grace: omega.AtOnce}
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}, Victims: victims})
			granted, err := service.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)
			taken++
			dropped := 0
			for mark := range s.Marked() {
				for _, team := range teams {
					if team.Drop(mark.Allocation.ID) {
						dropped++
					}
				}
				require.Equal(t, low, mark.Allocation.Precedence)
				require.NoError(t, s.Release(mark.Allocation.ID))
			}
			if !inDoubt { // else some may be of the claims in doubt
				require.Len(t, victims, dropped)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"resize": func(t *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(t, "team")
				n := rapid.IntRange(0, size).Draw(t, "n")
				store := doubtful{Local: omega.Local{Scheduler: s}}
				if n != teams[i].Len() && rapid.Bool().Draw(t, "in doubt") {
					store.lost, store.early = 2, rapid.Bool().Draw(t, "applied early")
					was := slices.Collect(teams[i].Workers())
					for range 2 {
						err := teams[i].Resize(t.Context(), &store, time.Time{}, n)
						if err == nil {
							require.Equal(t, 2, store.lost, "there was nothing to commit")
							store.lost = 0
							break
						}
						require.ErrorIs(t, err, omega.ErrOutcome)
						require.Equal(t, was, slices.Collect(teams[i].Workers()))
						inDoubt = true
					}
					preempt(t)
					inDoubt = false
					n = rapid.IntRange(0, size).Draw(t, "then n")
				}
				want := min(n, size-teams[1-i].Len()-taken)
				require.NoError(t, teams[i].Resize(t.Context(), &store, time.Time{}, n))
				require.Equal(t, want, teams[i].Len())
			},
			"preempt": preempt,
			"": func(t *rapid.T) {
				require.NoError(t, cell.Check())
				live := map[omega.AllocationID]omega.Precedence{}
				for a := range s.Allocations() {
					live[a.ID] = a.Precedence
				}
				for i, team := range teams {
					n := 0
					for id := range team.Workers() {
						want := high
						if n >= team.Len()-team.Extra() {
							want = low
						}
						require.Equal(t, want, live[id])
						delete(live, id)
						n++
					}
					require.Equal(t, team.Len(), n)
					require.LessOrEqual(t, team.Len()-team.Extra(), asked[i])
				}
				require.Empty(t, live, "workers of no team")
			},
		})
	})
}
