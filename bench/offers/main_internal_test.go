package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/program/programtest"
	"github.com/cellsched/cellsched/bench/offers/experiments"
)

func TestCommand_PrintsATable(t *testing.T) {
	out, progress := programtest.Printed(t, command, "-experiment", "locality", "-seeds", "2", "-parallel", "2")
	require.Regexp(t, `^locality, 2 seeds\n\n +local +all read / s\n`, out)
	require.Regexp(t, `(?m)^ +static partitions +0\.\d\d, 0\.\d\d\.\.0\.\d\d +\d+, \d+\.\.\d+\n`, out)
	require.Regexp(t, `(?m)^ +shared, wait 1s +0\.\d\d, `, out)
	require.Contains(t, progress, "8 of 8 runs")
}

func TestCommand_PrintsRowsForMachines(t *testing.T) {
	args := []string{"-experiment", "locality", "-json", "-parallel"}
	out, _ := programtest.Printed(t, command, append(args, "3")...)
	var rows []experiments.Row
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Len(t, rows, 4)
	require.Equal(t, "static partitions", rows[0].Case)
	again, _ := programtest.Printed(t, command, append(args, "1")...)
	require.Equal(t, out, again, "however many at a time")
}

func TestCommand_PrintsTheScaleTest(t *testing.T) {
	args := []string{"-experiment", "scale", "-machines", "200", "-tasks", "5"}
	out, _ := programtest.Printed(t, command, args...)
	require.Regexp(t, `^200 machines, 200 frameworks, 400 tasks of 30 s that ran and \d+ that ended\n`+
		`decision about a new task of 10 s, 5 times +p50 .+, p99 .+, most .+ on the CPU\n`, out)
	require.Regexp(t, `(?m)^memory +\d+ MB$`, out)

	out, _ = programtest.Printed(t, command, append(args, "-json")...)
	var r experiments.ScaleResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 200, r.Machines)
}

func TestTables_ShowExpectedAndMissingValues(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, tables(&out, []experiments.Row{
		{Experiment: "a", Case: "one", Seeds: 1, Figures: []experiments.Figure{{Name: "x", Mean: 1.234, Expected: 2}}},
		{Experiment: "a", Case: "two", Seeds: 2, Figures: []experiments.Figure{{Name: "y", Mean: 123.4, Least: 99.96, Most: 1234}}},
		{Experiment: "b", Case: "one", Seeds: 1, Figures: []experiments.Figure{{Name: "x", Mean: 12.34}}},
	}))
	require.Equal(t, "a, 1 seeds\n\n"+
		"                 x               y\n"+
		"  one  1.23 (2.00)                \n"+
		"  two               123, 100..1234\n\n"+
		"b, 1 seeds\n\n"+
		"          x\n"+
		"  one  12.3\n\n", out.String())
}

func TestCommand_PrintsNothingWhenInterrupted(t *testing.T) {
	for _, more := range [][]string{nil, {"-json"}} {
		programtest.Stops(t, command, append([]string{"-experiment", "locality"}, more...)...)
	}
}

func TestCommand_FailsWhereItCannotPrint(t *testing.T) {
	for _, args := range [][]string{
		{"-experiment", "locality"},
		{"-experiment", "scale", "-machines", "200", "-tasks", "5", "-json"},
		{"-experiment", "scale", "-machines", "200", "-tasks", "5"},
	} {
		programtest.FailsOnFullDisk(t, command, args...)
	}
}

func TestCommand_RejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no seeds":           {[]string{"-seeds", "0"}, "seeds 0"},
		"nobody to run it":   {[]string{"-parallel", "0"}, "parallel 0, machines 50000, tasks 1000: want 1 or more"},
		"no machines":        {[]string{"-machines", "-1"}, "machines -1"},
		"no tasks":           {[]string{"-tasks", "0"}, "tasks 0"},
		"unknown experiment": {[]string{"-experiment", "scales"}, `experiment "scales": want one of`},
		"not a flag":         {[]string{"model"}, `argument "model": want flags only`},
		"an unknown flag":    {[]string{"-cells"}, "flag provided but not defined"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			programtest.Refuses(t, command, tt.want, tt.args...)
		})
	}
}
