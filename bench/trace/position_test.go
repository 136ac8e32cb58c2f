package trace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
)

// lookup returns the text in a file of testdata from a position on, up to the next
// separator, and the text before it on the line.
func lookup(t *testing.T, name, separator string) (from, before func(line, column int) string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	from = func(line, column int) string {
		value, _, _ := strings.Cut(lines[line-1][column-1:], separator)
		return value
	}
	return from, func(line, column int) string { return lines[line-1][:column-1] }
}

// where returns the text at each position of the tasks of jobs: count, duration,
// data, models and the needs.
func where(from func(line, column int) string, jobs []trace.Job) (all []string) {
	for _, j := range jobs {
		all = append(all, from(j.UserAt.Line, j.UserAt.Column)+" "+from(j.SubmitAt.Line, j.SubmitAt.Column))
		for _, w := range j.Work {
			var values []string
			for _, column := range append([]int32{w.At.Count, w.At.Duration, w.At.Data, w.At.Models}, w.At.Need[:3]...) {
				values = append(values, from(w.Line, int(column)))
			}
			all = append(all, strings.Join(values, " "))
		}
	}
	return all
}

// A fault of a job that is found later on is reported at the value that the
// reader had. A value that the file does not have is reported at the job, or the task.
func TestReaders_SayWhereValuesAre(t *testing.T) {
	from, _ := lookup(t, "jobs.csv", ",")
	require.Equal(t, []string{
		"ada 12.5",
		"200 31.25 logs/monday  1 2Gi ",
		"10 60   2 8Gi ",
		"grace 14",
		"4 3600 r1/n17;n40 A100|V100 8 32Gi 0.5",
	}, where(from, all(t, trace.CSV("jobs.csv", file(t, "jobs.csv"), trace.Space()))))

	few := "job,submit_s,tasks,duration_s,memory\na,1,2,3,4Gi\n"
	from = func(_, column int) string {
		value, _, _ := strings.Cut("a,1,2,3,4Gi"[column-1:], ",")
		return value
	}
	require.Equal(t, []string{"a 1", "2 3 a a a 4Gi a"}, where(from, all(t, trace.CSV("f", strings.NewReader(few), trace.Space()))))

	from, _ = lookup(t, "pods.csv", ",")
	require.Equal(t, []string{
		"pod-a 100", "pod-a 155 pod-a  4000 8192 250",
		"pod-b 110", "pod-b 200 pod-b T4|P100 16000 65536 8",
		"pod-c 120", "pod-c 130 pod-c  500 0 0",
	}, where(from, all(t, trace.Alibaba("pods.csv", file(t, "pods.csv")))))

	from, _ = lookup(t, "mr.tsv", "\t")
	require.Equal(t, []string{
		"one 5", "250 250 logs one one one one",
		"two 5", "100 100 more two two two two", "80 80 two two two two two",
		"three 9", "0 0 logs three three three three",
	}, where(from, all(t, trace.SWIM("mr.tsv", file(t, "mr.tsv"), trace.MapReduce{}))))

	_, before := lookup(t, "history.json", "")
	jobs := all(t, trace.Rumen("history.json", file(t, "history.json")))
	require.True(t, strings.HasSuffix(before(jobs[0].UserAt.Line, jobs[0].UserAt.Column), `"user" : "ada"`))
	require.True(t, strings.HasSuffix(before(jobs[0].SubmitAt.Line, jobs[0].SubmitAt.Column), `"submitTime" : 7000`))
	require.Equal(t, "{", before(jobs[1].UserAt.Line, jobs[1].UserAt.Column))
	for _, w := range jobs[0].Work {
		require.True(t, strings.HasSuffix(before(w.Line, int(w.At.Count)), "{"))
		require.Equal(t, w.At.Count, w.At.Need[trace.Memory])
	}
}
