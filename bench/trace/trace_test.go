package trace_test

import (
	"compress/gzip"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

func all[T any](t *testing.T, seq iter.Seq2[T, error]) (got []T) {
	t.Helper()
	for v, err := range seq {
		require.NoError(t, err)
		got = append(got, v)
	}
	return got
}

// content returns jobs without where in the file their values are.
func content(t *testing.T, seq iter.Seq2[trace.Job, error]) []trace.Job {
	t.Helper()
	jobs := all(t, seq)
	for i := range jobs {
		jobs[i].UserAt, jobs[i].SubmitAt = trace.Position{}, trace.Position{}
		for k := range jobs[i].Work {
			jobs[i].Work[k].At = trace.Columns{}
		}
	}
	return jobs
}

func TestCSV_ReadsJobs(t *testing.T) {
	got := content(t, trace.CSV("jobs.csv", file(t, "jobs.csv"), trace.Space()))
	require.Equal(t, []trace.Job{
		{
			ID: "sort-7", User: "ada", Class: "batch", Submit: 12500 * time.Millisecond, Line: 2,
			Work: []trace.Tasks{
				{Count: 200, Need: resources.Vector{1000, 2 << 30}, Duration: 31250 * time.Millisecond, Input: "logs/monday", Line: 2},
				{Count: 10, Stage: 1, Need: resources.Vector{2000, 8 << 30}, Duration: time.Minute, Line: 3},
			},
		},
		{
			ID: "train", User: "grace", Class: "service", Priority: 3, Submit: 14 * time.Second, Line: 4,
			Work: []trace.Tasks{{
				Count: 4, Need: resources.Vector{8000, 32 << 30, 500}, Duration: time.Hour, Line: 4,
				Places: []trace.Place{{"r1", "n17"}, {"", "n40"}}, Models: []string{"A100", "V100"},
			}},
		},
	}, got)
}

// Columns come in any order, most may be left out, and lines may end as on
// other systems.
func TestCSV_NeedsFourColumnsAndAKind(t *testing.T) {
	text := "\ufeffmemory,duration_s,tasks,submit_s,job\r\n1Gi,0,1,0,a\r\n2Gi,1,3,0,b\r\n"
	got := all(t, trace.CSV("f", strings.NewReader(text), trace.Space()))
	require.Len(t, got, 2)
	require.Equal(t, resources.Vector{0, 2 << 30}, got[1].Work[0].Need)
	require.Equal(t, 3, got[1].Count())
}

func TestCSVNodes_ReadsMachines(t *testing.T) {
	got := all(t, trace.CSVNodes("nodes.csv", file(t, "nodes.csv"), trace.Space()))
	require.Equal(t, []trace.Machine{
		{Name: "n17", Rack: "r1", Model: "A100", Capacity: resources.Vector{16000, 64 << 30, 2000}, Line: 2, Column: 1},
		{Name: "n40", Rack: "r2", Capacity: resources.Vector{16000, 64 << 30}, Line: 3, Column: 1},
	}, got)
}

func TestUsers_ReadsWeights(t *testing.T) {
	got, err := trace.Users("users.csv", file(t, "users.csv"))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"ada": 1, "grace": 2.5}, got)
}

func TestKnown_RefusesAnUnknownUser(t *testing.T) {
	jobs := func() iter.Seq2[trace.Job, error] {
		return trace.CSV("jobs.csv", file(t, "jobs.csv"), trace.Space())
	}
	require.Len(t, all(t, trace.Known("jobs.csv", jobs(), map[string]float64{"ada": 1, "grace": 1})), 2)

	err := failure(t, trace.Known("jobs.csv", jobs(), map[string]float64{"ada": 1}))
	require.ErrorIs(t, err, trace.ErrUser)
	require.EqualError(t, err, `trace: jobs.csv:4:7: job "train" of user "grace", want one of the 1 in the table of users: unknown user`)
}

func TestAlibaba_ReadsPods(t *testing.T) {
	got := content(t, trace.Alibaba("pods.csv", file(t, "pods.csv")))
	require.Equal(t, []trace.Job{
		{
			ID: "pod-a", Class: "LS", Priority: 2, Submit: 100 * time.Second, Line: 2,
			Work: []trace.Tasks{{Count: 1, Need: resources.Vector{4000, 8 << 30, 250}, Duration: 50 * time.Second, Line: 2}},
		},
		{ // never ran
			ID: "pod-b", Class: "BE", Submit: 110 * time.Second, Line: 3,
			Work: []trace.Tasks{{
				Count: 1, Need: resources.Vector{16000, 64 << 30, 8000}, Duration: 90 * time.Second, Line: 3,
				Models: []string{"T4", "P100"},
			}},
		},
		{
			ID: "pod-c", Class: "Guaranteed", Priority: 3, Submit: 120 * time.Second, Line: 4,
			Work: []trace.Tasks{{Count: 1, Need: resources.Vector{500}, Duration: 0, Line: 4}},
		},
	}, got)
}

func TestAlibabaNodes_ReadsMachines(t *testing.T) {
	got := all(t, trace.AlibabaNodes("gpus.csv", file(t, "gpus.csv")))
	require.Equal(t, []trace.Machine{
		{Name: "gpu-0", Model: "T4", Capacity: resources.Vector{32000, 128 << 30, 2000}, Line: 2, Column: 1},
		{Name: "cpu-0", Capacity: resources.Vector{64000, 256 << 30}, Line: 3, Column: 1},
	}, got)
}

func TestSWIM_DividesBytesIntoTasks(t *testing.T) {
	m := trace.MapReduce{Block: 100, Reduce: 40, Rate: 10, Startup: time.Second, Need: resources.Vector{7}}
	got := content(t, trace.SWIM("mr.tsv", file(t, "mr.tsv"), m))
	require.Equal(t, []trace.Job{
		{ // 250 bytes in three maps, which write 30 more: 83 + 10 bytes each
			ID: "one", Class: "maps", Submit: 5 * time.Second, Line: 1,
			Work: []trace.Tasks{{Count: 3, Need: m.Need, Duration: 10300 * time.Millisecond, Input: "logs", Line: 1}},
		},
		{ // two reduces fetch 80 bytes and write 20
			ID: "two", Class: "maps+reduces", Submit: 5 * time.Second, Line: 2,
			Work: []trace.Tasks{
				{Count: 1, Need: m.Need, Duration: 11 * time.Second, Input: "more", Line: 2},
				{Count: 2, Stage: 1, Need: m.Need, Duration: 6 * time.Second, Line: 2},
			},
		},
		{ // nothing to read is still a task
			ID: "three", Class: "maps", Submit: 9 * time.Second, Line: 3,
			Work: []trace.Tasks{{Count: 1, Need: m.Need, Duration: time.Second, Input: "logs", Line: 3}},
		},
	}, got)
}

func TestSWIM_RejectsInvalidArguments(t *testing.T) {
	for name, m := range map[string]trace.MapReduce{
		"block of -1 bytes":    {Block: -1},
		"reduce of -1 bytes":   {Reduce: -1},
		"rate of -1 bytes":     {Rate: -1},
		"startup -1s":          {Startup: -time.Second},
		"need of a task":       {Need: resources.Vector{-1}},
		"get through in 292 y": {Startup: math.MaxInt64},
	} {
		require.ErrorContains(t, failure(t, trace.SWIM("f", strings.NewReader("a\t1\t1\t99999999\t0\t0\n"), m)), name)
	}
}

// A time of twice 292 years and a little more once made the division overflow.
func TestSWIM_RefusesTimesThatOverflow(t *testing.T) {
	for _, bytes := range []string{"9223372037", "18446744074", "19000000000", "36893488148", "4611686018427387904"} {
		err := failure(t, trace.SWIM("f", strings.NewReader("a\t1\t1\t"+bytes+"\t0\t0\n"), trace.MapReduce{Rate: 1, Block: 1 << 62}))
		require.ErrorContains(t, err, `f:1:7: input "`+bytes+`", want what 1 bytes a second get through in 292 years`)
	}
	got := content(t, trace.SWIM("f", strings.NewReader("a\t1\t1\t9223372036\t0\t0\n"), trace.MapReduce{Rate: 1, Block: 1 << 62}))
	require.Equal(t, 9_223_372_036*time.Second, got[0].Work[0].Duration)
}

// The mark that spreadsheets begin a file with is one there, and else a letter.
func TestCSV_KeepsAByteOrderMarkWithinTheFile(t *testing.T) {
	got := all(t, trace.CSV("f", strings.NewReader("\ufeffjob,submit_s,tasks,duration_s,cpu\n\ufeffa,1,1,1,1\n"), trace.Space()))
	require.Equal(t, "\ufeffa", got[0].ID)
}

func TestRumen_ReadsJobs(t *testing.T) {
	got := content(t, trace.Rumen("history.json", file(t, "history.json")))
	need := resources.Vector{1000, 512 << 20}
	require.Equal(t, []trace.Job{{
		ID: "job_2", User: "ada", Class: "JAVA", Priority: 1, Submit: 7 * time.Second, Line: 1,
		Work: []trace.Tasks{
			{
				Count: 1, Need: need, Duration: 2 * time.Second, Line: 6,
				Places: []trace.Place{{"10.0.0.0", "n1.example"}, {"10.0.1.0", "n2.example"}},
			},
			{Count: 1, Need: need, Duration: 1500 * time.Millisecond, Line: 17},
			{Count: 1, Stage: 1, Need: need, Duration: 4 * time.Second, Line: 24},
		},
	}, {
		ID: "job_1", Submit: 3 * time.Second, Line: 34,
		Work: []trace.Tasks{{Count: 1, Need: resources.Vector{1000, 1 << 30}, Duration: time.Second, Line: 36}},
	}}, got)
}

func TestRumenNodes_ReadsMachines(t *testing.T) {
	size := resources.Vector{2000, 4 << 30}
	got := all(t, trace.RumenNodes("topology.json", file(t, "topology.json"), size))
	require.Equal(t, []trace.Machine{
		{Name: "n1.example", Rack: "10.0.0.0", Capacity: size, Line: 5, Column: 53},
		{Name: "n2.example", Rack: "10.0.1.0", Capacity: size, Line: 9, Column: 52},
		{Name: "alone", Capacity: size, Line: 12, Column: 23},
	}, got)
	for m, err := range trace.RumenNodes("topology.json", file(t, "topology.json"), size) {
		require.NoError(t, err)
		require.Equal(t, "n1.example", m.Name)
		break // ends the walk, and is no error
	}
}

func TestSorted_PutsJobsInTheOrderOfSubmission(t *testing.T) {
	at := func(seconds ...int) iter.Seq2[trace.Job, error] {
		return func(yield func(trace.Job, error) bool) {
			for i, s := range seconds {
				if !yield(trace.Job{ID: string(rune('a' + i)), Submit: time.Duration(s) * time.Second, SubmitAt: trace.Position{i + 1, 2}}, nil) {
					return
				}
			}
		}
	}
	order := func(jobs []trace.Job) (s string) {
		for _, j := range jobs {
			s += j.ID
		}
		return s
	}
	require.Equal(t, "bacedf", order(all(t, trace.Sorted("f", at(2, 1, 2, 7, 5, 9), 2))))
	require.Empty(t, all(t, trace.Sorted("f", at(), 2)))

	err := failure(t, trace.Sorted("f", at(2, 3, 4, 1), 2))
	require.ErrorIs(t, err, trace.ErrOrder)
	require.EqualError(t, err, `trace: f:4:2: job "d" was submitted at 1s, before one that was read more than 2 jobs earlier, at 2s, want those by submission: out of order`)

	for j, err := range trace.Sorted("f", at(1, 2, 3, 4, 5), 1) {
		require.NoError(t, err)
		require.Equal(t, "a", j.ID)
		break // the walk may end early
	}
}

func TestOpen_UnpacksGzip(t *testing.T) {
	for _, name := range []string{"jobs.csv", "jobs.csv.gz"} {
		f, err := trace.Open(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.Len(t, all(t, trace.CSV(name, f, trace.Space())), 2)
		require.NoError(t, f.Close())
	}
	_, err := trace.Open(filepath.Join("testdata", "none.csv"))
	require.ErrorIs(t, err, os.ErrNotExist)
	empty := filepath.Join(t.TempDir(), "empty.csv")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	f, err := trace.Open(empty)
	require.NoError(t, err)
	require.ErrorIs(t, failure(t, trace.CSV("empty.csv", f, trace.Space())), trace.ErrCut)
	require.NoError(t, f.Close())
}

// A file that was packed and then cut is a file that was cut, wherever.
func TestOpen_SaysWhereAPackedFileWasCut(t *testing.T) {
	packed, err := os.ReadFile(filepath.Join("testdata", "jobs.csv.gz"))
	require.NoError(t, err)
	for n := 2; n < len(packed); n++ {
		path := filepath.Join(t.TempDir(), "cut.gz")
		require.NoError(t, os.WriteFile(path, packed[:n], 0o600))
		f, err := trace.Open(path)
		if err == nil {
			err = failure(t, trace.CSV(path, f, trace.Space()))
			require.NoError(t, f.Close())
		}
		require.ErrorIs(t, err, trace.ErrCut, "%d bytes", n)
		require.ErrorContains(t, err, path+":")
	}
	path := filepath.Join(t.TempDir(), "other.gz")
	require.NoError(t, os.WriteFile(path, []byte("\x1f\x8b is how it begins"), 0o600))
	_, err = trace.Open(path)
	require.ErrorIs(t, err, gzip.ErrHeader)
	require.ErrorContains(t, err, path+":1:1: begins as gzip does, and has no header of gzip")
}

func file(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}
