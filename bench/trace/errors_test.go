package trace_test

import (
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// failure returns the error that a sequence ends with, which nothing follows.
func failure[T any](t *testing.T, seq iter.Seq2[T, error]) (failed error) {
	t.Helper()
	for _, err := range seq {
		require.NoError(t, failed, "a sequence goes on after its error")
		failed = err
	}
	return failed
}

// format calls one of the readers, and reduces its result to its error.
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

func TestReaders_NameFaultAndPosition(t *testing.T) {
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
		"swim, not bytes": {"swim", "job0\t1\t1\t2e-9\t0\t3\n", `trace: f:1:10: input "2e-9", want a whole number from 0 to 4611686018427387904: invalid value`, trace.ErrValue},
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
		"own, stage goes back from the line before": {
			"csv", own + "a,1,1,1,1,,,,0,,,\na,,1,1,1,,,,2,,,\na,,1,1,1,,,,1,,,\n",
			`trace: f:4:13: stage "1", want 2 or more, as on the line before: invalid value`, trace.ErrValue,
		},
		"own, two priorities of a job": {
			"csv", own + "a,1,1,1,1,,,7,,,,\na,,1,1,1,,,8,,,,\n",
			`trace: f:3:12: priority "8", want nothing, or the same as on line 2, where job "a" begins: invalid value`, trace.ErrValue,
		},
		"own, cut behind the second line of a job": {
			"csv", own + "a,1,1,1,1,,,,,,,\na,,1,1,1,,,,,,,\na,,1",
			`trace: f:4:5: the last line, "a,,1", ends without a newline: the file was cut`, trace.ErrCut,
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

// An error of the disk is passed on, with the place.
func TestReaders_PassOnReadErrors(t *testing.T) {
	r := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(own)))
	err := failure(t, trace.CSV("f", r, trace.Space()))
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.ErrorContains(t, err, "f:1:2: reading")

	r = iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("{}")))
	err = failure(t, trace.Rumen("f", r))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}
