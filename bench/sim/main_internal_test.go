package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/program/programtest"
	"github.com/cellsched/cellsched/bench/sim/experiments"
)

func TestCommand_PrintsATable(t *testing.T) {
	out, progress := programtest.Printed(t, command, "-experiment", "fig14", "-hours", "0.01", "-parallel", "2")
	require.Contains(t, out, "claims + incremental")
	require.Regexp(t, `batch: busy +on these +by day +conflicts +by day .* queued +left +given up`, out)
	require.Regexp(t, `0\.\d{3} ± 0\.000`, out)
	require.Contains(t, progress, "12 of 12 runs")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, rows, 2+1+12)
}

func TestCommand_PrintsLockedRoom(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-experiment", "fig7", "-hours", "0.02", "-parallel", "2")
	require.Regexp(t, `batch: busy .* given up +locked +service: busy .* given up +locked +CPU used`, out)
	require.Regexp(t, `(?m)^ +two-level +no timeout +1 +1 +100 .* \d\d\.\d % +\d\d\.\d % *$`, out)
	require.Regexp(t, `(?m)^ +omega +1 +1 +100 .* 0\.0 % +\d\d\.\d % *$`, out)
	rows := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, rows, 2+1+40)
}

func TestCommand_PrintsRogues(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-experiment", "rogue", "-hours", "0.01", "-parallel", "2")
	require.Contains(t, out, "keeps all for an hour")
	require.Contains(t, out, "gate, not asked")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, rows, 2+1+25)
}

func TestCommand_PrintsTheFederation(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-experiment", "federation", "-hours", "0.001", "-parallel", "2")
	require.Regexp(t, `(?m)^ +load +megha +0\.5 +10 +10 +1000 +10 +0\.0005 .* 0\.0 % *$`, out)
	require.Regexp(t, `(?m)^ +synthetic +sparrow +0\.8 +10 +10 +50000 `, out)
	rows := strings.Split(strings.TrimSpace(out), "\n")
	require.Regexp(t, `(?m)^ +synthetic +omega +0\.8 +`, out)
	require.Len(t, rows, 2+1+39)
}

func TestCommand_PrintsARecordedWorkload(t *testing.T) {
	var swim strings.Builder
	for i := range 100 { // 40 blocks each
		fmt.Fprintf(&swim, "job%d\t%d\t1\t%d\t0\t0\n", i, i, 40<<27)
	}
	path := filepath.Join(t.TempDir(), "swim.tsv")
	require.NoError(t, os.WriteFile(path, []byte(swim.String()), 0o600))
	out, _ := programtest.Printed(t, command, "-experiment", "recorded", "-hours", "0.001", "-trace", path)
	require.Regexp(t, `(?m)^ +recorded +megha +0\.95 +10 +10 +1000 `, out)
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 2+1+16)
	require.ErrorContains(t, command(t.Context(), []string{"-experiment", "recorded"}, io.Discard, io.Discard), "want the SWIM file")
}

func TestCommand_PrintsRowsForMachines(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-experiment", "fig14", "-hours", "0.01", "-json")
	var rows []experiments.Row
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
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

func TestCommand_RejectsInvalidArguments(t *testing.T) {
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
			programtest.Refuses(t, command, tt.want, tt.args...)
		})
	}
}
