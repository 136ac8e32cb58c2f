package trace_test

import (
	"compress/gzip"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
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

// failure returns the error that a sequence ends with, which nothing follows.
func failure[T any](t *testing.T, seq iter.Seq2[T, error]) (failed error) {
	t.Helper()
	for _, err := range seq {
		require.NoError(t, failed, "a sequence goes on after its error")
		failed = err
	}
	return failed
}

// format is how one of the readers is called, with its result reduced to its
// error.
type format func(t *testing.T, text string) error

func formats() map[string]format {
	return map[string]format{
		"alibaba": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.Alibaba("f", strings.NewReader(text)))
		},
		"alibaba nodes": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.AlibabaNodes("f", strings.NewReader(text)))
		},
		"swim": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.SWIM("f", strings.NewReader(text), trace.MapReduce{}))
		},
		"rumen": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.Rumen("f", strings.NewReader(text)))
		},
		"rumen nodes": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.RumenNodes("f", strings.NewReader(text), resources.Vector{1}))
		},
		"csv": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.CSV("f", strings.NewReader(text), trace.Space()))
		},
		"csv nodes": func(t *testing.T, text string) error {
			t.Helper()
			return failure(t, trace.CSVNodes("f", strings.NewReader(text), trace.Space()))
		},
		"users": func(_ *testing.T, text string) error {
			_, err := trace.Users("f", strings.NewReader(text))
			return err
		},
	}
}

const (
	pods  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	nodes = "sn,cpu_milli,memory_mib,gpu,model\n"
	own   = "job,submit_s,tasks,duration_s,cpu,user,class,priority,stage,input,places,models\n"
)

func TestReaders_SayWhereAndWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		format, text string
		want         string
		is           error
	}{
		"nothing at all":        {"alibaba", "", `trace: f:1:1: the end, want a header with name cpu_milli memory_mib num_gpu gpu_milli gpu_spec qos pod_phase creation_time deletion_time scheduled_time: the file was cut`, trace.ErrCut},
		"cut in the header":     {"alibaba", "name,cpu_mi", `trace: f:1:12: the last line, "name,cpu_mi", ends without a newline: the file was cut`, trace.ErrCut},
		"cut in a number":       {"alibaba", pods + "a,1000,0,0,0,,LS,Running,0,10,5", `trace: f:2:32: the last line, "a,1000,0,0,0,,LS,Running,0,10,5", ends without a newline: the file was cut`, trace.ErrCut},
		"cut between fields":    {"alibaba", pods + "a,1000,0\n", `trace: f:2:9: 3 fields, want 11: name cpu_milli memory_mib num_gpu gpu_milli gpu_spec qos pod_phase creation_time deletion_time scheduled_time: wrong columns`, trace.ErrColumns},
		"missing column":        {"alibaba nodes", "sn,cpu_milli,gpu,model\n", `trace: f:1:23: no column "memory_mib" in "sn,cpu_milli,gpu,model", want sn cpu_milli memory_mib gpu model: wrong columns`, trace.ErrColumns},
		"column twice":          {"alibaba nodes", "sn,cpu_milli,memory_mib,gpu,model,sn\n", `trace: f:1:35: column "sn" twice, want it once: wrong columns`, trace.ErrColumns},
		"negative time":         {"alibaba", pods + "a,1000,0,0,0,,LS,Running,-4,10,5\n", `trace: f:2:26: creation_time "-4", want a whole number from 0 to 9223372035: invalid value`, trace.ErrValue},
		"ends before it begins": {"alibaba", pods + "a,1000,0,0,0,,LS,Running,4,9,10\n", `trace: f:2:28: deletion_time "9", want a whole number from 10 to 9223372035: invalid value`, trace.ErrValue},
		"begins before it is":   {"alibaba", pods + "a,1000,0,0,0,,LS,Running,4,9,3\n", `trace: f:2:30: scheduled_time "3", want a whole number from 4 to 9223372035: invalid value`, trace.ErrValue},
		"no name":               {"alibaba", pods + ",1000,0,0,0,,LS,Running,4,9,4\n", `trace: f:2:1: name "", want a name: invalid value`, trace.ErrValue},
		"part of no device":     {"alibaba", pods + "a,1000,0,0,500,,LS,Running,4,9,4\n", `trace: f:2:12: gpu_milli "500", want 0 where num_gpu is 0: invalid value`, trace.ErrValue},
		"no part of a device":   {"alibaba", pods + "a,1000,0,1,0,,LS,Running,4,9,4\n", `trace: f:2:12: gpu_milli "0", want 1 to 1000 where num_gpu is 1: invalid value`, trace.ErrValue},
		"needs nothing":         {"alibaba", pods + "a,0,0,0,0,,LS,Running,4,9,4\n", `trace: f:2:3: cpu_milli "0", want some of cpu, memory or gpu: invalid value`, trace.ErrValue},
		"class of another kind": {"alibaba", pods + "a,1,0,0,0,,ls,Running,4,9,4\n", `trace: f:2:12: qos "ls", want LS, BE, Burstable or Guaranteed: invalid value`, trace.ErrValue},
		"part of many devices":  {"alibaba", pods + "a,1000,0,2,500,,LS,Running,4,9,4\n", `trace: f:2:12: gpu_milli "500", want 1000 where num_gpu is more than 1: invalid value`, trace.ErrValue},
		"no pods":               {"alibaba", pods, `trace: f:2:1: the end, want a pod: the file was cut`, trace.ErrCut},
		"no machines":           {"alibaba nodes", nodes, `trace: f:2:1: the end, want a machine: the file was cut`, trace.ErrCut},
		"machine of nothing":    {"alibaba nodes", nodes + "n,0,0,0,\n", `trace: f:2:3: cpu_milli "0", want some of cpu, memory or gpu: invalid value`, trace.ErrValue},
		"more fields":           {"alibaba nodes", nodes + "n,1,1,0,,more,\n", `trace: f:2:10: 7 fields, want 5: sn cpu_milli memory_mib gpu model: wrong columns`, trace.ErrColumns},
		"too much":              {"alibaba nodes", nodes + "n,32000,9223372036854775808,0,\n", `trace: f:2:9: memory_mib "9223372036854775808", want a whole number from 0 to 4294967296: invalid value`, trace.ErrValue},

		"swim, no jobs":   {"swim", "", `trace: f:1:1: the end, want a job: the file was cut`, trace.ErrCut},
		"swim, more":      {"swim", "job0\t1\t1\t2\t0\t3\tp\t\t\tq\n", `trace: f:1:20: 10 fields, want 6, 7 or 9: job`, trace.ErrColumns},
		"swim, cut":       {"swim", "job0\t1\t1\t2\t0\t3\njob1\t1\t0\t2", `trace: f:2:11: the last line, "job1\t1\t0\t2", ends without a newline: the file was cut`, trace.ErrCut},
		"swim, columns":   {"swim", "job0\t1\t1\t2\t0\n", `trace: f:1:13: 5 fields, want 6, 7 or 9: job submit gap input shuffle output path: wrong columns`, trace.ErrColumns},
		"swim, fewer":     {"swim", "job0\t1\t1\t2\t0\t3\tp\njob1\t1\t0\t2\t0\t3\n", `trace: f:2:15: 6 fields, want 7: job submit gap input shuffle output path: wrong columns`, trace.ErrColumns},
		"swim, negative":  {"swim", "job0\t-1\t1\t2\t0\t3\n", `trace: f:1:6: submit "-1", want a whole number from 0 to 9223372035: invalid value`, trace.ErrValue},
		"swim, not bytes": {"swim", "job0\t1\t1\t2e9\t0\t3\n", `trace: f:1:10: input "2e9", want a whole number from 0 to 4611686018427387904: invalid value`, trace.ErrValue},
		"swim, 8th":       {"swim", "job0\t1\t1\t2\t0\t3\tp\tq\t\n", `trace: f:1:18: 8th column "q", want nothing: invalid value`, trace.ErrValue},
		"swim, no end":    {"swim", "job0\t1\t1\t2\t0\t4611686018427387904\n", `trace: f:1:10: input "2", want what 16777216 bytes a second get through in 292 years: invalid value`, trace.ErrValue},
		"swim, too many":  {"swim", "job0\t1\t1\t4611686018427387904\t0\t0\n", `trace: f:1:10: input "4611686018427387904", want no more than 2147483647 tasks of 134217728 bytes: invalid value`, trace.ErrValue},

		"rumen, no jobs":      {"rumen", "\n", `trace: f:1:1: the end, want a job with tasks that ran: the file was cut`, trace.ErrCut},
		"rumen, no tasks":     {"rumen", "{\"jobID\": \"j\", \"submitTime\": 4}", `trace: f:1:32: the end, want a job with tasks that ran: the file was cut`, trace.ErrCut},
		"rumen, many places":  {"rumen", "{\"mapTasks\": [{\"preferredLocations\": [" + strings.Repeat(`{"layers": ["r", "n"]},`, 65), `trace: f:1:1532: more than 64 of preferredLocations: too long`, trace.ErrLong},
		"topology, none":      {"rumen nodes", "{\"name\": \"r\"}\n", `trace: f:1:14: the end, want a machine: the file was cut`, trace.ErrCut},
		"rumen, cut":          {"rumen", "{\"jobID\": \"j\",\n \"submitTime\": 5,\n \"mapTa", `trace: f:3:2: the end, want a job: the file was cut`, trace.ErrCut},
		"rumen, other JSON":   {"rumen", "[1]", `trace: f:1:2: [, want an object: a job: not the format`, trace.ErrSyntax},
		"rumen, no JSON":      {"rumen", "{\n\"user\": geek}", `trace: f:2:9: invalid character 'g' looking for beginning of value, want user: not the format`, trace.ErrSyntax},
		"rumen, no time":      {"rumen", "{\"jobID\": \"j\"}", `trace: f:1:15: job "j" without submitTime, want milliseconds since 1970: wrong columns`, trace.ErrColumns},
		"rumen, no name":      {"rumen", "{\"submitTime\": 4}", `trace: f:1:18: a job without jobID, want its name: wrong columns`, trace.ErrColumns},
		"rumen, negative":     {"rumen", "{\"jobID\": \"j\",\n\"submitTime\": -4}", `trace: f:2:17: submitTime is -4, want a whole number from 0 to 9223372036854: invalid value`, trace.ErrValue},
		"rumen, backwards":    {"rumen", "{\"mapTasks\": [{\"attempts\": [{\"startTime\": 5, \"finishTime\": 4}]}]}", `trace: f:1:62: an attempt from startTime 5 to finishTime 4, want it to end after it began: invalid value`, trace.ErrValue},
		"rumen, layers":       {"rumen", "{\"mapTasks\": [{\"preferredLocations\": [{\"layers\": [\"a\"]}]}]}", `trace: f:1:55: layers are ["a"], want a rack and a node: invalid value`, trace.ErrValue},
		"rumen, priority":     {"rumen", "{\"priority\": \"best\"}", `trace: f:1:20: priority is "best", want VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW: invalid value`, trace.ErrValue},
		"rumen, deep":         {"rumen", "{\"x\": " + strings.Repeat("[", 100), `trace: f:1:72: x is more than 64 deep: too long`, trace.ErrLong},
		"rumen, no end":       {"rumen", "{\"x\": \"" + strings.Repeat("y", 2<<20), `trace: f:1:7: a value of more than 1048576 bytes: too long`, trace.ErrLong},
		"rumen, then more":    {"rumen", "{\"jobID\": \"j\", \"submitTime\": 4}\n]", `invalid character ']' looking for beginning of value, want an object or the end: not the format`, trace.ErrSyntax},
		"rumen, long member":  {"rumen", "{\"" + strings.Repeat("y", 9000) + "\": ", `trace: f:1:9005: the end, want ` + strings.Repeat("y", 64) + `…: the file was cut`, trace.ErrCut},
		"rumen, long layers":  {"rumen", "{\"mapTasks\": [{\"preferredLocations\": [{\"layers\": [\"" + strings.Repeat("y", 9000) + "\"]}]}]}", `layers are ["` + strings.Repeat("y", 64) + `…"], want a rack`, trace.ErrValue},
		"topology, cut":       {"rumen nodes", "{\"name\": \"r\", \"children\": [", `trace: f:1:28: the end, want children: the file was cut`, trace.ErrCut},
		"topology, no name":   {"rumen nodes", "{\"name\": \"r\", \"children\": [{}]}", `trace: f:1:30: a node without a name, want one: wrong columns`, trace.ErrColumns},
		"topology, name late": {"rumen nodes", "{\"children\": [{}], \"name\": \"r\"}", `trace: f:1:16: children before the name, want the name first: not the format`, trace.ErrSyntax},
		"topology, then more": {"rumen nodes", "{\"name\": \"r\"} {", `trace: f:1:16: {, want an object or the end: not the format`, trace.ErrSyntax},

		"own, no jobs":        {"csv", own, `trace: f:2:1: the end, want a job: the file was cut`, trace.ErrCut},
		"own nodes, none":     {"csv nodes", "name,cpu\n", `trace: f:2:1: the end, want a machine: the file was cut`, trace.ErrCut},
		"own nodes, nothing":  {"csv nodes", "name,rack,cpu\nn,r,1\nm,r,0\n", `trace: f:3:5: machine "m" has nothing, want some of a kind: invalid value`, trace.ErrValue},
		"users, none":         {"users", "user,weight\n", `trace: f:2:1: the end, want a user: the file was cut`, trace.ErrCut},
		"own, cut":            {"csv", own + "a,1,1,1,1,,,,,,,\nb,2", `trace: f:3:4: the last line, "b,2", ends without a newline: the file was cut`, trace.ErrCut},
		"own, missing column": {"csv", "job,submit_s,tasks,cpu\n", `trace: f:1:23: no column "duration_s" in "job,submit_s,tasks,cpu", want job submit_s tasks duration_s: wrong columns`, trace.ErrColumns},
		"own, unknown column": {"csv", "job,submit_s,tasks,duration_s,cpus\n", `trace: f:1:31: column "cpus", want one of job submit_s tasks duration_s user class priority stage input places models cpu memory gpu: wrong columns`, trace.ErrColumns},
		"own, no kind":        {"csv", "job,submit_s,tasks,duration_s,user\n", `trace: f:1:35: no column of a kind of resource, want one of cpu memory gpu: wrong columns`, trace.ErrColumns},
		"own, negative time":  {"csv", own + "a,-1,1,1,1,,,,,,,\n", `trace: f:2:3: submit_s "-1", want seconds from 0 to 9223372035, with 9 decimals at most: invalid value`, trace.ErrValue},
		"own, too late":       {"csv", own + "a,9223372036,1,1,1,,,,,,,\n", `trace: f:2:3: submit_s "9223372036", want seconds from 0 to 9223372035, with 9 decimals at most: invalid value`, trace.ErrValue},
		"own, too exact":      {"csv", own + "a,1,1,0.1234567891,1,,,,,,,\n", `trace: f:2:7: duration_s "0.1234567891", want seconds from 0 to 9223372035, with 9 decimals at most: invalid value`, trace.ErrValue},
		"own, no tasks":       {"csv", own + "a,1,0,1,1,,,,,,,\n", `trace: f:2:5: tasks "0", want a whole number from 1 to 2147483647: invalid value`, trace.ErrValue},
		"own, plus sign":      {"csv", own + "a,1,+1,1,1,,,,,,,\n", `trace: f:2:5: tasks "+1", want a whole number from 1 to 2147483647: invalid value`, trace.ErrValue},
		"own, negative need":  {"csv", own + "a,1,1,1,-1,,,,,,,\n", `trace: f:2:9: cpu "-1", want a quantity such as 2, 500m or 4Gi, 0 or more: invalid value`, trace.ErrValue},
		"own, needs nothing":  {"csv", own + "a,1,1,1,,,,,,,,\n", `trace: f:2:9: tasks that need nothing, want some of a kind: invalid value`, trace.ErrValue},
		"own, stage goes back": {
			"csv", own + "a,1,1,1,1,,,,2,,,\na,,1,1,1,,,,1,,,\n",
			`trace: f:3:13: stage "1", want 2 or more, as on the line before: invalid value`, trace.ErrValue,
		},
		"own, two users of a job": {
			"csv", own + "a,1,1,1,1,ada,,,,,,\na,,1,1,1,bob,,,,,,\n",
			`trace: f:3:10: user "bob", want nothing, or the same as on line 2, where job "a" begins: invalid value`, trace.ErrValue,
		},
		"own, two times of a job": {
			"csv", own + "a,1,1,1,1,ada,,,,,,\na,1.5,1,1,1,,,,,,,\n",
			`trace: f:3:3: submit_s "1.5", want nothing, or the same as on line 2, where job "a" begins: invalid value`, trace.ErrValue,
		},
		"own, input and places": {"csv", own + "a,1,1,1,1,,,,,f,n,\n", `trace: f:2:17: places "n", want nothing where there is an input: invalid value`, trace.ErrValue},
		"own, rack alone":       {"csv", own + "a,1,1,1,1,,,,,,r/,\n", `trace: f:2:16: places "r/", want nodes or rack/node, split by ;: invalid value`, trace.ErrValue},
		"own, no model":         {"csv", own + "a,1,1,1,1,,,,,,,x|\n", `trace: f:2:17: models "x|", want models, split by |: invalid value`, trace.ErrValue},
		"own, a line too long":  {"csv", own + strings.Repeat("a", 2<<20), `trace: f:2:1048577: a line of more than 1048576 bytes: too long`, trace.ErrLong},
		"own nodes, amount":     {"csv nodes", "name,cpu\na,x\n", `trace: f:2:3: cpu "x", want a quantity such as 2, 500m or 4Gi, 0 or more: invalid value`, trace.ErrValue},
		"users, weight":         {"users", "user,weight\nada,0\n", `trace: f:2:5: weight "0", want a decimal number from 0.000001 to 1000000: invalid value`, trace.ErrValue},
		"users, not a number":   {"users", "user,weight\nada,NaN\n", `trace: f:2:5: weight "NaN", want a decimal number from 0.000001 to 1000000: invalid value`, trace.ErrValue},
		"users, hexadecimal":    {"users", "user,weight\nada,0x1p-2\n", `trace: f:2:5: weight "0x1p-2", want a decimal number from 0.000001 to 1000000: invalid value`, trace.ErrValue},
		"users, underscore":     {"users", "user,weight\nada,1_0\n", `trace: f:2:5: weight "1_0", want a decimal`, trace.ErrValue},
		"users, too light":      {"users", "user,weight\nada,1e-7\n", `trace: f:2:5: weight "1e-7", want a decimal`, trace.ErrValue},
		"users, too heavy":      {"users", "user,weight\nada,1e301\n", `trace: f:2:5: weight "1e301", want a decimal`, trace.ErrValue},
		"own, quoted":           {"csv", own + "a,1,1,1,1,,,,,,,\n\"b\",1,1,1,1,,,,,,,\n", `trace: f:3:1: a quote in "\"b\"", want values without quotes and commas: not the format`, trace.ErrSyntax},
		"own, a quoted comma":   {"csv", own + "a,1,1,1,1,\"x,y\",,,,,,\n", `trace: f:2:11: a quote in "\"x", want values without quotes and commas: not the format`, trace.ErrSyntax},
		"own, another header":   {"csv", strings.Repeat("h", 9000) + "\n", `trace: f:1:9001: no column "job" in "` + strings.Repeat("h", 64) + `…", want job submit_s tasks duration_s: wrong columns`, trace.ErrColumns},
		"own, a long column":    {"csv", "job,submit_s,tasks,duration_s,cpu," + strings.Repeat("h", 9000) + "\n", `trace: f:1:35: column "` + strings.Repeat("h", 64) + `…", want one of`, trace.ErrColumns},
		"users, twice":          {"users", "user,weight\nada,1\nada,2\n", `trace: f:3:1: user "ada", want each user once: invalid value`, trace.ErrValue},
		"users, other column":   {"users", "user,weight,x\n", `trace: f:1:13: column "x", want one of user weight: wrong columns`, trace.ErrColumns},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := formats()[tt.format](t, tt.text)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.want)
			var where *trace.Error
			require.ErrorAs(t, err, &where)
			require.Equal(t, "f", where.File)
			require.Positive(t, where.Column)
		})
	}
}

// What the disk says is passed on, with the place.
func TestReaders_PassOnWhatReadingFailsWith(t *testing.T) {
	r := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(own)))
	err := failure(t, trace.CSV("f", r, trace.Space()))
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.ErrorContains(t, err, "f:1:2: reading")

	r = iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("{}")))
	err = failure(t, trace.Rumen("f", r))
	require.ErrorIs(t, err, iotest.ErrTimeout)
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

func TestKnown_RefusesAUserWhoIsNotInTheTable(t *testing.T) {
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

func TestSWIM_RefusesWhatMakesNoSense(t *testing.T) {
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
