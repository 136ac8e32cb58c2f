package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
	"github.com/cellsched/cellsched/bench/internal/program/programtest"
)

func TestCommand_PrintsTheTables(t *testing.T) {
	out, progress := programtest.Printed(t, command, "-hours", "0.1", "-seeds", "2", "-parallel", "2")
	require.Regexp(t, `(?m)^busy: 500 machines, \d+ jobs in 6m0s, 2 seeds$`, out)
	require.Regexp(t, `(?m)^quiet: 125 machines, \d+ jobs in 6m0s, 2 seeds$`, out)
	for _, policy := range experiments.Policies() {
		require.Regexp(t, `(?m)^ *`+policy.Name+` +\d+\.\d % +\d+\.\d\.\.\d+\.\d +\d+\.\d % +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d\.\.\d+\.\d\d `, out, "speed-ups")
		require.Regexp(t, `(?m)^ *`+policy.Name+` +\d+\.\d % +\d+\.\d % +\d+\.\d\.\.\d+\.\d .* \d+\.\d\d %$`, out, "utilisation")
	}
	require.Regexp(t, `(?m)^ *speed-up below +1\.01 +1\.5 `, out)
	require.Contains(t, progress, "16 of 16 runs")
}

func TestCommand_PrintsRowsForMachines(t *testing.T) {
	args := []string{"-hours", "0.1", "-seeds", "2", "-json", "-parallel"}
	out, _ := programtest.Printed(t, command, append(args, "3")...)
	var rows []experiments.Summary
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Len(t, rows, 8)
	for i, r := range rows {
		require.Equal(t, []string{"busy", "quiet"}[i/4], r.Cell)
		require.Equal(t, experiments.Policies()[i%4].Name, r.Policy)
		require.Equal(t, 2, r.Seeds)
		require.Positive(t, r.Jobs.Least)
		require.Positive(t, r.Utilisation.Mean.Least)
	}

	again, _ := programtest.Printed(t, command, append(args, "1")...)
	require.Equal(t, out, again, "however many at a time")
}

func TestCommand_PrintsNothingWhenInterrupted(t *testing.T) {
	for _, args := range [][]string{{"-parallel", "1"}, {"-parallel", "2", "-json"}} {
		programtest.Stops(t, command, append(args, "-hours", "0.5")...)
	}
}

func TestCommand_FailsWhereItCannotPrint(t *testing.T) {
	for _, args := range [][]string{{}, {"-json"}} {
		programtest.FailsOnFullDisk(t, command, append(args, "-hours", "0.1")...)
	}
}

func TestCommand_RejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"backwards":         {[]string{"-hours", "-1"}, "hours -1, seeds 1"},
		"too short":         {[]string{"-hours", "0"}, "want 0.1 to 720 hours"},
		"too long":          {[]string{"-hours", "720.5"}, "want 0.1 to 720 hours"},
		"no time":           {[]string{"-hours", "NaN"}, "hours NaN"},
		"no seeds":          {[]string{"-seeds", "0"}, "seeds 0"},
		"nobody to run it":  {[]string{"-parallel", "0"}, "parallel 0: want"},
		"not a flag":        {[]string{"busy"}, `argument "busy": want flags only`},
		"an unknown flag":   {[]string{"-cells"}, "flag provided but not defined"},
		"not a whole seed":  {[]string{"-seeds", "1.5"}, `invalid value "1.5"`},
		"a value of nobody": {[]string{"-json=perhaps"}, "invalid boolean value"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			programtest.Refuses(t, command, tt.want, tt.args...)
		})
	}
}
