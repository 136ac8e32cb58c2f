package trace_test

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// seed adds a file of testdata, and the parts of it that are left when it is cut.
func seed(f *testing.F, name string) {
	f.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(f, err)
	for _, n := range []int{len(text), len(text) - 1, len(text) / 2, 0} {
		f.Add(text[:n])
	}
}

// fuzzJobs checks the result of a reader for any text: each job can be
// run, and an error says where and ends the sequence.
func fuzzJobs(t *testing.T, text []byte, jobs iter.Seq2[trace.Job, error]) {
	t.Helper()
	lines := bytes.Count(text, []byte("\n")) + 1
	var failed error
	for j, err := range jobs {
		require.NoError(t, failed)
		if failed = err; err != nil {
			checkError(t, err, lines)
			continue
		}
		require.NotEmpty(t, j.ID)
		require.GreaterOrEqual(t, j.Submit.Nanoseconds(), int64(0))
		require.LessOrEqual(t, j.Line, lines)
		require.NotEmpty(t, j.Work)
		require.Positive(t, j.UserAt.Column)
		require.Positive(t, j.SubmitAt.Column)
		stage := 0
		for _, w := range j.Work {
			require.Positive(t, w.Count)
			require.GreaterOrEqual(t, w.Stage, stage)
			stage = w.Stage
			require.NoError(t, w.Need.Check())
			require.NotEqual(t, resources.Vector{}, w.Need)
			require.GreaterOrEqual(t, w.Duration.Nanoseconds(), int64(0))
			require.GreaterOrEqual(t, w.Line, j.Line)
			require.Positive(t, min(w.At.Count, w.At.Duration, w.At.Data, w.At.Models, slices.Min(w.At.Need[:])))
			for _, p := range w.Places {
				require.NotEmpty(t, p.Node)
			}
		}
	}
}

func fuzzMachines(t *testing.T, text []byte, machines iter.Seq2[trace.Machine, error]) {
	t.Helper()
	lines := bytes.Count(text, []byte("\n")) + 1
	var failed error
	for m, err := range machines {
		require.NoError(t, failed)
		if failed = err; err != nil {
			checkError(t, err, lines)
			continue
		}
		require.NotEmpty(t, m.Name)
		require.NoError(t, m.Capacity.Check())
	}
}

func checkError(t *testing.T, err error, lines int) {
	t.Helper()
	var where *trace.Error
	require.ErrorAs(t, err, &where)
	require.Positive(t, where.Line)
	require.LessOrEqual(t, where.Line, lines)
	require.Positive(t, where.Column)
	require.NotEmpty(t, where.Detail)
	known := false
	for _, reason := range []error{
		trace.ErrCut, trace.ErrColumns, trace.ErrValue, trace.ErrUser, trace.ErrOrder, trace.ErrSyntax, trace.ErrLong,
	} {
		known = known || errors.Is(err, reason)
	}
	require.True(t, known, "%v", err)
}

func FuzzCSV(f *testing.F) {
	seed(f, "jobs.csv")
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzJobs(t, text, trace.CSV("f", bytes.NewReader(text), trace.Space()))
	})
}

func FuzzCSVNodes(f *testing.F) {
	seed(f, "nodes.csv")
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzMachines(t, text, trace.CSVNodes("f", bytes.NewReader(text), trace.Space()))
	})
}

func FuzzUsers(f *testing.F) {
	seed(f, "users.csv")
	f.Fuzz(func(t *testing.T, text []byte) {
		users, err := trace.Users("f", bytes.NewReader(text))
		if err != nil {
			checkError(t, err, bytes.Count(text, []byte("\n"))+1)
			return
		}
		for _, weight := range users {
			require.Positive(t, weight)
		}
	})
}

func FuzzAlibaba(f *testing.F) {
	seed(f, "pods.csv")
	f.Fuzz(func(t *testing.T, text []byte) { fuzzJobs(t, text, trace.Alibaba("f", bytes.NewReader(text))) })
}

func FuzzAlibabaNodes(f *testing.F) {
	seed(f, "gpus.csv")
	f.Fuzz(func(t *testing.T, text []byte) { fuzzMachines(t, text, trace.AlibabaNodes("f", bytes.NewReader(text))) })
}

func FuzzSWIM(f *testing.F) {
	seed(f, "mr.tsv")
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzJobs(t, text, trace.SWIM("f", bytes.NewReader(text), trace.MapReduce{}))
	})
}

func FuzzRumen(f *testing.F) {
	seed(f, "history.json")
	f.Fuzz(func(t *testing.T, text []byte) { fuzzJobs(t, text, trace.Rumen("f", bytes.NewReader(text))) })
}

func FuzzRumenNodes(f *testing.F) {
	seed(f, "topology.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzMachines(t, text, trace.RumenNodes("f", bytes.NewReader(text), resources.Vector{1}))
	})
}
