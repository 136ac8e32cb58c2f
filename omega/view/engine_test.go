package view_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

type engine struct {
	Name    string
	Commits uint64
	Refused map[string]uint64
	Offers  int
}

// engines returns the rows of a new handler. In a bubble the answers of sources are in time.
func engines(t *testing.T, cfg view.Config) (got []engine) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { got = enginesOf(t, view.Handler(cfg)) })
	return got
}

func enginesOf(t *testing.T, h http.Handler) []engine {
	t.Helper()
	page := ask(h, "/?format=json")
	require.Equal(t, http.StatusOK, page.Code)
	var got struct{ Engines []engine }
	require.NoError(t, json.Unmarshal(page.Body.Bytes(), &got))
	return got.Engines
}

func TestOverview_SaysWhatSchedulersAndSourcesHaveCounted(t *testing.T) {
	require.Empty(t, engines(t, view.Config{}))
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	m, _ := cell.Machine("m")
	const schedulers = 300
	for i := range schedulers {
		s, err := cell.Register(fmt.Sprintf("s%03d", i), omega.Limits{})
		require.NoError(t, err)
		for range 1 + i/(schedulers-1) { // the last one commits twice
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
			_, err = s.Commit(&tx)
			require.NoError(t, err)
		}
	}
	_, err = cell.Register("idle", omega.Limits{})
	require.NoError(t, err)
	counts := observe.Counts{Name: "not this", Claims: 9, Offers: 4}
	counts.Refuse("rescinded", 9)
	got := engines(t, view.Config{Cell: cell, Sources: map[string]func() observe.Counts{
		"mesos": func() observe.Counts { return counts }, "none": nil,
	}})
	require.Less(t, len(got), schedulers, "the rest is summed")
	require.Equal(t, engine{Name: "mesos", Refused: map[string]uint64{"rescinded": 9}, Offers: 4}, got[0])
	require.Equal(t, engine{Name: "s299", Commits: 2, Refused: map[string]uint64{"conflict": 2}}, got[1])
	require.Equal(t, "others", got[len(got)-1].Name)
	total, refused := uint64(0), uint64(0)
	for _, e := range got {
		total += e.Commits
		refused += e.Refused["conflict"]
	}
	require.EqualValues(t, schedulers+1, total)
	require.EqualValues(t, schedulers, refused)
	for _, e := range engines(t, view.Config{Cell: cell, Filter: func(kind, text string) string { return kind }})[:3] {
		require.Equal(t, "scheduler", e.Name)
	}
}

// The sum of the rows beyond belongs to one answer.
func TestOverview_SaysTheSameUntilThereIsMore(t *testing.T) {
	sources := map[string]func() observe.Counts{}
	for i := range 60 {
		counts := observe.Counts{Claims: uint64(100 - i), Waiting: 1}
		counts.Refuse("conflict", 1)
		if i%2 == 0 {
			counts.Refuse("full", 2)
		}
		sources[fmt.Sprintf("s%02d", i)] = func() observe.Counts { return counts }
	}
	first := engines(t, view.Config{Sources: sources})
	for range 3 {
		require.Equal(t, first, engines(t, view.Config{Sources: sources}))
	}
	conflicts := uint64(0)
	for _, e := range first {
		conflicts += e.Refused["conflict"]
	}
	require.EqualValues(t, 60, conflicts)
}
