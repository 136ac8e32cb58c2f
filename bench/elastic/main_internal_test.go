package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
)

func TestCommand_PrintsTheTables(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, command(t.Context(), []string{"-hours", "0.1", "-seeds", "2", "-parallel", "2"}, &out, &progress))
	require.Regexp(t, `(?m)^busy: 500 machines, \d+ jobs in 6m0s, 2 seeds$`, out.String())
	require.Regexp(t, `(?m)^quiet: 125 machines, \d+ jobs in 6m0s, 2 seeds$`, out.String())
	for _, policy := range experiments.Policies() {
		require.Regexp(t, `(?m)^ *`+policy.Name+` +\d+\.\d % +\d+\.\d\.\.\d+\.\d +\d+\.\d % +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d\.\.\d+\.\d\d `, out.String(), "speed-ups")
		require.Regexp(t, `(?m)^ *`+policy.Name+` +\d+\.\d % +\d+\.\d % +\d+\.\d\.\.\d+\.\d .* \d+\.\d\d %$`, out.String(), "utilisation")
	}
	require.Regexp(t, `(?m)^ *speed-up below +1\.01 +1\.5 `, out.String())
	require.Contains(t, progress.String(), "16 of 16 runs")
}

func TestCommand_PrintsRowsForMachines(t *testing.T) {
	args := []string{"-hours", "0.1", "-seeds", "2", "-json", "-parallel"}
	var out, again, progress bytes.Buffer
	require.NoError(t, command(t.Context(), append(args, "3"), &out, &progress))
	var rows []experiments.Summary
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.Len(t, rows, 8)
	for i, r := range rows {
		require.Equal(t, []string{"busy", "quiet"}[i/4], r.Cell)
		require.Equal(t, experiments.Policies()[i%4].Name, r.Policy)
		require.Equal(t, 2, r.Seeds)
		require.Positive(t, r.Jobs.Least)
		require.Positive(t, r.Utilisation.Mean.Least)
	}

	require.NoError(t, command(t.Context(), append(args, "1"), &again, &progress))
	require.Equal(t, out.String(), again.String(), "however many at a time")
}

// interrupting is where progress goes of somebody who does not wait for the end.
type interrupting struct{ interrupt context.CancelCauseFunc }

var errEnough = errors.New("enough")

func (w interrupting) Write(p []byte) (int, error) {
	w.interrupt(errEnough)
	return len(p), nil
}

func TestCommand_PrintsNothingWhenInterrupted(t *testing.T) {
	for _, args := range [][]string{{"-parallel", "1"}, {"-parallel", "2", "-json"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var out bytes.Buffer
		err := command(ctx, append(args, "-hours", "0.5"), &out, interrupting{cancel})
		require.ErrorIs(t, err, errEnough)
		require.Empty(t, out.String())
	}
}

// full is a disk on which no room is left.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestCommand_FailsWhereItCannotPrint(t *testing.T) {
	for _, args := range [][]string{{}, {"-json"}} {
		var progress bytes.Buffer
		require.ErrorIs(t, command(t.Context(), append(args, "-hours", "0.1"), full{}, &progress), errFull)
	}
}

func TestCommand_RefusesWhatMakesNoSense(t *testing.T) {
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
			var out, progress bytes.Buffer
			require.ErrorContains(t, command(t.Context(), tt.args, &out, &progress), tt.want)
			require.Empty(t, out.String())
		})
	}
}
