package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/bench/internal/program/programtest"
	"github.com/cellsched/cellsched/bench/quincy/experiments"
)

func TestCommand_PrintsATableForEachLoadAndStatements(t *testing.T) {
	out, remarks := programtest.Printed(t, command, "-span", "30s", "-data", t.TempDir(), "-parallel", "2")
	require.Contains(t, remarks, "facebook: skipped, no data: stat ")
	require.Contains(t, remarks, "hadoop: skipped, no data: stat ")
	require.Contains(t, remarks, "24 of 24 runs")
	for _, name := range []string{"synthetic", "narrow", "batch"} {
		require.Contains(t, out, name+", 1 seeds: "+experiments.Shows(name)+"\n\n")
	}
	require.NotContains(t, out, "hadoop")
	require.Equal(t, 3, strings.Count(out, "  core GB  core %  rack %  at data %"))
	require.Regexp(t, `(?m)^ +quincy, fair, preempts +[0-9.]+ `, out)
	require.Regexp(t, `(?m)^open     Quincy moves less over the core switch`, out)
}

func TestCommand_PrintsJSON(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-load", "batch", "-span", "30s", "-seeds", "2", "-json")
	var got struct {
		Rows   []experiments.Row
		Claims []experiments.Claim
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&got))
	require.Len(t, got.Rows, 8)
	require.Equal(t, 2, got.Rows[7].Seeds)
	require.Equal(t, "batch", got.Rows[7].Load)
	require.Equal(t, experiments.Claims(got.Rows), got.Claims)
}

func TestCommand_SkipsALoadWithoutItsData(t *testing.T) {
	out, remarks := programtest.Printed(t, command, "-load", "hadoop", "-data", t.TempDir())
	require.Empty(t, out)
	require.Contains(t, remarks, "hadoop: skipped, no data: stat ")
	require.Equal(t, 1, strings.Count(remarks, "\n"))
}

func TestCommand_RefusesBadInput(t *testing.T) {
	for text, args := range map[string][]string{
		`load "wide": want one of synthetic, narrow, batch, facebook, hadoop`: {"-load", "wide"},
		`argument "batch": want flags only`:                                   {"batch"},
		`seeds 0, parallel`:                                                   {"-seeds", "0"},
		`parallel 0`:                                                          {"-parallel", "0"},
		`span -1s: want`:                                                      {"-span", "-1s"},
		`flag provided but not defined`:                                       {"-policy", "greedy"},
	} {
		programtest.Refuses(t, command, text, args...)
	}
}

func TestCommand_PrintsNothingIfInterrupted(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var out strings.Builder
	require.ErrorIs(t, command(ctx, []string{"-load", "narrow"}, &out, io.Discard), cause)
	require.Empty(t, out.String())
}

func TestTables_ShowVerdictsAndReasons(t *testing.T) {
	rows := []experiments.Row{
		{Load: "narrow", Policy: "greedy", Seeds: 2, Figures: []experiments.Figure{{Name: "a", Each: []float64{1, 1}}, {Name: "b", Each: []float64{20, 21}}}},
		{Load: "narrow", Policy: "other", Seeds: 2, Figures: []experiments.Figure{{Name: "a", Each: []float64{2}}, {Name: "b"}}},
		{Load: "batch", Policy: "greedy", Seeds: 2, Figures: []experiments.Figure{{Name: "a", Each: []float64{300, 300}}}},
	}
	claims := []experiments.Claim{
		{Stated: "It rains.", Here: "It does.", Verdict: interval.Holds, Why: "not shown"},
		{Stated: "It pours.", Here: "It drips.", Verdict: interval.Differs, Why: "it is summer"},
		{Stated: "It snows.", Here: "No."},
	}
	var out strings.Builder
	require.NoError(t, tables(&out, rows, claims))
	require.Equal(t, `narrow, 2 seeds: `+experiments.Shows("narrow")+`

                     a              b
  greedy  1.00 ± 0.000    20.5 ± 6.35
   other          2.00  0.000 ± 0.000

batch, 2 seeds: `+experiments.Shows("batch")+`

                    a
  greedy  300 ± 0.000

holds    It rains. It does.
differs  It pours. It drips.
         it is summer
open     It snows. No.
`, out.String())
}

func TestCommand_PrintsCauses(t *testing.T) {
	args := []string{"-causes", "-span", "20s", "-seeds", "2", "-parallel", "2"}
	out, remarks := programtest.Printed(t, command, args...)
	require.Contains(t, remarks, "14 of 14 runs")
	require.Equal(t, 6, strings.Count(out, "\n"))
	require.Regexp(t, `(?m)^ +migration of running tasks +[0-9.]+ .* ± `, out)
	out, _ = programtest.Printed(t, command, append(args, "-json")...)
	var got []experiments.Cause
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got, 5)
	programtest.Refuses(t, command, "causes: 1 seeds: want 2 or more", "-causes")
	programtest.Refuses(t, command, `causes on load "batch": want narrow`, "-causes", "-load", "batch", "-seeds", "2")
}

func TestCommand_SaysThatItCouldNotPrint(t *testing.T) {
	for _, more := range [][]string{nil, {"-json"}} {
		programtest.FailsOnFullDisk(t, command, append([]string{"-load", "batch", "-span", "10s"}, more...)...)
	}
}

func TestNumber_HasThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0.000", 0.0344: "0.034", 0.99949: "0.999", 9.994: "9.99", 99.94: "99.9", 99.96: "100", 1234.5: "1234"} {
		require.Equal(t, want, number(x))
	}
}
