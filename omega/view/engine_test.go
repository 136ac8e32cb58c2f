package view_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

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

// A cell tells no events. So a page of a cell alone shows what its schedulers have counted
// since the last second, and nothing of the hours before it was opened.
func TestStream_TellsWhatSchedulersOfABareCellWereRefused(t *testing.T) {
	for name, events := range map[string]*observe.Stream{"bare": nil, "with events": new(observe.Stream)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, low := newCell(t, 1)
				high, err := cell.Register("<high>", omega.Limits{Highest: 1})
				require.NoError(t, err)
				full := resources.Vector{8000, 64 << 30}
				machine, _ := cell.Machine("m00000")
				victim := claim(t, low, "m00000", full, "")
				refuse := func(s *omega.Scheduler, n int) {
					var tx omega.Txn
					for range n {
						tx.Claim(omega.Claim{Machine: machine, Need: full})
					}
					_, err := s.Commit(&tx)
					require.NoError(t, err)
				}
				refuse(low, 7) // before the page was opened
				w, stop := watch(view.Handler(view.Config{Cell: cell, Events: events}), "")
				defer stop()
				pass(2 * time.Second)
				w.read(t)
				require.NotContains(t, fmt.Sprint(w.events["overview"]), "claims: 7")
				refuse(low, 2)
				pass(2 * time.Second)
				refuse(high, 1)
				tx := omega.Txn{Now: time.Now(), Grace: time.Second}
				tx.Claim(omega.Claim{Machine: machine, Need: full, Precedence: 1, Victims: []omega.AllocationID{victim}})
				granted, err := high.Commit(&tx)
				require.NoError(t, err)
				require.Equal(t, 1, granted)
				pass(2 * time.Second)
				w.read(t)
				var got []string
				for _, event := range w.events["decisions"] {
					var rows []struct{ Kind, Source, Reason string }
					require.NoError(t, json.Unmarshal([]byte(event), &rows))
					for _, r := range rows {
						got = append(got, r.Kind+" "+r.Source+" "+r.Reason)
					}
				}
				if events != nil {
					require.Empty(t, got)
					return
				}
				require.Equal(t, []string{
					"refused batch claims: 2, conflict", "refused <high> claims: 1, conflict", "preempted batch allocations: 1",
				}, got)
			})
		})
	}
}
