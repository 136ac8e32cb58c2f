package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/experiments"
)

// trials is two rogues and all measures, where everything is as it should be.
func trials() (rows []experiments.RogueRow) {
	for _, rogue := range []string{"none", "hoards", "grabs"} {
		for _, measure := range []string{"none", "limits", "gate", "gate, not asked", "preemption"} {
			r := experiments.RogueRow{Rogue: rogue, Measure: measure, Seeds: 5, Submitted: 100, Full: 0.1, Share: 0.4, RogueShare: 0.1}
			if rogue != "none" {
				r.RogueShare, r.Left = 0.2, 1
				r.Full = map[string]float64{"none": 100, "limits": 5, "gate": 6, "gate, not asked": 200, "preemption": 7}[measure]
			}
			if rogue != "none" && measure == "none" {
				r.Left, r.Found, r.FoundIn = 30, 1800, 5
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func TestRogueClaims_DifferWhereTheRowsDo(t *testing.T) {
	tests := map[string]struct {
		rogue, measure string
		change         func(*experiments.RogueRow)
		differs        int // which claim, by its place
		here           string
	}{
		"little harm":        {"grabs", "none", func(r *experiments.RogueRow) { r.Full = 0.9 }, 0, "wait 0.900 s (grabs) to 100 s (hoards)"},
		"not found":          {"grabs", "none", func(r *experiments.RogueRow) { r.FoundIn = 2 }, 1, "7 of 10 runs. Fewer: grabs: 2 of 5."},
		"honest one accused": {"hoards", "gate", func(r *experiments.RogueRow) { r.Accused = 1 }, 2, "named 1 times, in 75 runs"},
		"nobody is a rogue":  {"none", "limits", func(r *experiments.RogueRow) { r.FoundIn = 1 }, 2, "named 1 times"},
		"above its limit":    {"hoards", "limits", func(r *experiments.RogueRow) { r.RogueShare = 0.3 }, 3, "holds 30.0 % at most"},
		"more are left":      {"hoards", "limits", func(r *experiments.RogueRow) { r.Left = 31 }, 3, "No better than without it: hoards."},
		"no gate":            {"grabs", "gate", func(r *experiments.RogueRow) { r.Full = 100 }, 4, "No better than without it: grabs."},
		"gate not needed":    {"hoards", "gate, not asked", func(r *experiments.RogueRow) { r.Full = 6 }, 5, "in 1 of 2 cases"},
		"nothing comes back": {"hoards", "preemption", func(r *experiments.RogueRow) { r.Full = 300 }, 6, "7 s (grabs) to 300 s (hoards)"},
	}
	for i, c := range rogueClaims(trials()) {
		require.True(t, c.same, "%d: %s %s", i, c.paper, c.here)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rows := trials()
			for i := range rows {
				if r := &rows[i]; r.Rogue == tt.rogue && r.Measure == tt.measure {
					tt.change(r)
				}
			}
			claims := rogueClaims(rows)
			require.False(t, claims[tt.differs].same)
			require.Contains(t, claims[tt.differs].here, tt.here)
		})
	}
}

func TestLines_BreakBetweenWords(t *testing.T) {
	require.Equal(t, "keeps all\nfor an\nhour", lines("keeps all for an hour", 10))
	require.Equal(t, "indivisible\nas it is", lines("indivisible as it is", 8))
	require.Empty(t, lines("", 8))
}
