package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/internal/recordings"
)

// slow is for tests that take a second: with the race detector that is twenty, and
// there is one goroutine.
func slow(t *testing.T) {
	t.Helper()
	if race.Detector {
		t.Skip("nothing here is concurrent")
	}
}

// byRule returns the rows of a case by their rule.
func byRule(t *testing.T, rows []row, name string) map[string]row {
	t.Helper()
	found := make(map[string]row)
	for _, r := range rows {
		if r.Case == name {
			found[r.Rule] = r
		}
	}
	require.NotEmpty(t, found, name)
	return found
}

func TestShare_SuggestedSkipsReachTheShare(t *testing.T) {
	slow(t)
	rows, err := share(t.Context(), options{seed: 1, part: 3})
	require.NoError(t, err)
	suggested, before := 0, row{}
	for _, r := range rows {
		if strings.Contains(r.Rule, "suggested") {
			require.GreaterOrEqual(t, r.Local, 0.95, "%s, %s", r.Case, r.Rule)
			suggested++
		}
		if r.Case == before.Case && strings.HasPrefix(r.Rule, "D") {
			require.Greater(t, r.Local, before.Local, "%s: more skips, more local tasks", r.Rule)
		}
		before = r
	}
	require.Equal(t, 4*3, suggested)
	require.InDelta(t, 0.95, promised(23, 20), 0.001, "the paper's example, with a little more than 23.1")
}

func TestSticky_AFewSkipsFreeTheSlots(t *testing.T) {
	slow(t)
	rows, err := sticky(t.Context(), options{seed: 1, part: 3})
	require.NoError(t, err)
	require.Less(t, byRule(t, rows, "50 jobs")["D = 0"].Local, byRule(t, rows, "5 jobs")["D = 0"].Local/2)
	for _, jobs := range []string{"5 jobs", "10 jobs", "20 jobs", "50 jobs"} {
		require.Greater(t, byRule(t, rows, jobs)["D = 10"].Local, 0.98)
	}
}

func TestPopular_OnlyThePapersRuleIsHeldUp(t *testing.T) {
	rows, err := popular(t.Context(), options{})
	require.NoError(t, err)
	short := byRule(t, rows, "tasks of 5s")
	require.InDelta(t, 3000, short["paper's rule"].Makespan, 5)
	require.LessOrEqual(t, short["default"].Makespan, 40.0)
	require.LessOrEqual(t, short["learned"].Makespan, 40.0)
}

// Shorter phases than those of the command, in which the time to learn weighs more.
func TestLearned_IsNeverMuchWorseThanTheBestAndBetterThanAny(t *testing.T) {
	slow(t)
	for name, tt := range map[string]struct {
		phases []phase
		most   float64
	}{
		"learned": {phases(), 1.1},
		"unseen":  {others(), 1.15},
	} {
		rows, err := compare(t.Context(), options{seed: 1, part: 3}, tt.phases)
		require.NoError(t, err)
		for _, p := range tt.phases {
			require.LessOrEqual(t, byRule(t, rows, p.name)["learned"].Relative, tt.most, p.name)
		}
		overall := byRule(t, rows, "all")
		require.Len(t, overall, len(fixed())+1)
		for rule, r := range overall {
			if rule != "learned" {
				require.Less(t, overall["learned"].Relative, r.Relative, "%s: %s", name, rule)
			}
		}
	}
}

func TestHadoop_WaitingBringsFiveTimesAsManyToTheirData(t *testing.T) {
	slow(t)
	rows, err := hadoop(t.Context(), options{seed: 1, part: 5, data: recordings.Find(t, "rumen-hadoop-2009")})
	require.NoError(t, err)
	require.Len(t, rows, 3)
	none, suggested, learned := rows[0], rows[1], rows[2]
	require.GreaterOrEqual(t, suggested.Local, 5*none.Local)
	require.LessOrEqual(t, suggested.Mean, none.Mean)
	require.LessOrEqual(t, learned.Mean, none.Mean)
}

func TestHadoop_NineSlotsOfTenAreBusyOtherwise(t *testing.T) {
	c, err := readLog(recordings.Find(t, "rumen-hadoop-2009"))
	require.NoError(t, err)
	cell := c.cell(2, rand.New(rand.NewPCG(1, 2)))
	busy, free := time.Duration(0), time.Duration(0)
	for range 20_000 {
		busy += cell.load()
		free += cell.gap()
	}
	require.InDelta(t, 0.9, busy.Seconds()/(busy+free).Seconds(), 0.01)
}

func TestFacebook_WaitingPays(t *testing.T) {
	slow(t)
	rows, err := facebook(t.Context(), options{seed: 1, part: 4, data: recordings.Find(t, "swim-facebook")})
	require.NoError(t, err)
	require.Len(t, rows, 6)
	for i := range 2 {
		none, suggested, learned := rows[3*i], rows[3*i+1], rows[3*i+2]
		require.Greater(t, suggested.Local, none.Local)
		require.Less(t, suggested.Mean, none.Mean)
		require.Less(t, learned.Mean, none.Mean)
	}
}
