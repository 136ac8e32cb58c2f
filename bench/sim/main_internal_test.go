package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/experiments"
)

func TestCommand_PrintsATable(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, command(t.Context(), []string{"-experiment", "fig14", "-hours", "0.01", "-parallel", "2"}, &out, &progress))
	require.Contains(t, out.String(), "claims + incremental")
	require.Regexp(t, `batch: busy +by day +conflicts +by day .* queued +left +given up`, out.String())
	require.Regexp(t, `0\.\d{3} ± 0\.000`, out.String())
	require.Contains(t, progress.String(), "12 of 12 runs")
	rows := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, rows, 2+1+12)
}

func TestCommand_PrintsWhatOffersLock(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, command(t.Context(), []string{"-experiment", "fig7", "-hours", "0.02", "-parallel", "2"}, &out, &progress))
	require.Regexp(t, `batch: busy .* given up +locked +service: busy .* given up +locked +CPU used`, out.String())
	require.Regexp(t, `(?m)^ +two-level +no timeout +1 +1 +100 .* \d\d\.\d % +\d\d\.\d % *$`, out.String())
	require.Regexp(t, `(?m)^ +omega +1 +1 +100 .* 0\.0 % +\d\d\.\d % *$`, out.String())
	rows := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, rows, 2+1+40)
}

func TestCommand_PrintsWhatRoguesDo(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, command(t.Context(), []string{"-experiment", "rogue", "-hours", "0.01", "-parallel", "2"}, &out, &progress))
	require.Contains(t, out.String(), "keeps all for an hour")
	require.Contains(t, out.String(), "gate, not asked")
	rows := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, rows, 2+1+25)
}

func TestCommand_PrintsRowsForMachines(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, command(t.Context(), []string{"-experiment", "fig14", "-hours", "0.01", "-json"}, &out, &progress))
	var rows []experiments.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.Len(t, rows, 12)
	require.Equal(t, "fit + incremental", rows[0].Mode)
	require.Positive(t, rows[0].Memory)
	batch, schedulers := rows[0].Class[0], rows[0].Schedulers
	require.Len(t, schedulers, 2)
	require.Equal(t, "batch-0", schedulers[0].Name)
	require.Positive(t, batch.Granted)
	require.Positive(t, batch.Useful)
	require.InDelta(t, batch.Useful, schedulers[0].Useful, 1e-9)
	require.InDelta(t, batch.Succeeded, schedulers[0].Succeeded, 1e-9)
	require.InDelta(t, batch.Busyness, schedulers[0].Busyness, 1e-9)
}

func TestCommand_RefusesWhatMakesNoSense(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no experiment":   {nil, `experiment "": want one of fig5, fig6, fig7, fig8, fig9, fig14, rogue`},
		"no such figure":  {[]string{"-experiment", "fig10"}, `experiment "fig10": want one of`},
		"backwards":       {[]string{"-hours", "-1"}, "hours -1, seeds 1"},
		"no time":         {[]string{"-hours", "NaN"}, "want 0 or 0.001 to"},
		"next to no time": {[]string{"-hours", "1e-13"}, "hours 1e-13, seeds 1"},
		"no seeds":        {[]string{"-seeds", "0"}, "seeds 0"},
		"not a flag":      {[]string{"fig5"}, `argument "fig5": want flags only`},
		"an unknown flag": {[]string{"-experiments"}, "flag provided but not defined"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, progress bytes.Buffer
			require.ErrorContains(t, command(t.Context(), tt.args, &out, &progress), tt.want)
			require.Empty(t, out.String())
		})
	}
}
