package simulate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

const head = "workload,submit_s,tasks,duration_s,cpus_per_task,mem_per_task\n"

func TestReadCSV_ReadsJobs(t *testing.T) {
	jobs, err := simulate.ReadCSV("jobs.csv", strings.NewReader(head+"Batch,5.900810,174,39.647345,1.0,2.0\nservice,6,1,0,0.25,0.5\n"))
	require.NoError(t, err)
	require.Equal(t, []simulate.Job{
		{
			Class: simulate.Batch, Submit: 5_900_810 * time.Microsecond, Tasks: 174,
			Duration: 39_647_345 * time.Microsecond, Need: resources.Vector{1000, 2 << 30},
		},
		{Class: simulate.Service, Submit: 6 * time.Second, Tasks: 1, Need: resources.Vector{250, 1 << 29}},
	}, jobs)

	jobs, err = simulate.ReadCSV("jobs.csv", strings.NewReader(head+"Batch,2.67754e+06,1.74e+02,1e-9,2.5e-1,5E-1\nBatch,2.67754e+06,2.0,1,1,1\n"))
	require.NoError(t, err)
	require.Equal(t, simulate.Job{
		Class: simulate.Batch, Submit: 2_677_540 * time.Second, Tasks: 174, Duration: 1, Need: resources.Vector{250, 1 << 29},
	}, jobs[0])
	require.Equal(t, 2, jobs[1].Tasks)

	jobs, err = simulate.ReadCSV("jobs.csv", strings.NewReader(head))
	require.NoError(t, err)
	require.Empty(t, jobs)
}

func TestReadCSV_SaysWhereAFileIsWrong(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":          {"", "jobs.csv:1: nothing: want"},
		"another file":     {"a,b\n", `jobs.csv:1: columns "a,b": want "workload,`},
		"cut in the line":  {head + "Batch,1,2,3,4,5\nBatch,1,2", "jobs.csv:3: 3 columns: want 6"},
		"cut in a number":  {head + "Batch,1,2,3,4,5\nBatch,1,2,3,4,1", `jobs.csv:3: the last line ends without a newline`},
		"cut head":         {strings.TrimSuffix(head, "\n"), `jobs.csv:1: the last line ends without a newline`},
		"too many":         {head + "Batch,1,2,3,4,5,6\n", "jobs.csv:2: 7 columns: want 6"},
		"quote left open":  {head + "\"Batch,1,2,3,4,5\n", `jobs.csv:2:18: extraneous or missing`},
		"class":            {head + "Bath,1,2,3,4,5\n", `jobs.csv:2:1: workload "Bath": want Batch or Service`},
		"negative time":    {head + "Batch,-1,2,3,4,5\n", `jobs.csv:2:7: submit_s "-1": want a number from 0`},
		"no number":        {head + "Batch,1,2,NaN,4,5\n", `jobs.csv:2:11: duration_s "NaN": want a number from 0`},
		"hexadecimal":      {head + "Batch,1,2,0x1p4,4,5\n", `jobs.csv:2:11: duration_s "0x1p4": want a number from 0`},
		"infinite":         {head + "Batch,1,2,Inf,4,5\n", `jobs.csv:2:11: duration_s "Inf": want a number from 0`},
		"half an exponent": {head + "Batch,1,2.5e0,3,4,5\n", `jobs.csv:2:9: tasks "2.5e0": want a whole number from 1 to 2147483647`},
		"too many tasks":   {head + "Batch,1,2.147483648e9,3,4,5\n", `jobs.csv:2:9: tasks "2.147483648e9": want a whole number from 1 to 2147483647`},
		"half a task":      {head + "Batch,1,2.5,3,4,5\n", `jobs.csv:2:9: tasks "2.5": want a whole number from 1`},
		"no task":          {head + "Batch,1,0,3,4,5\n", `tasks "0": want a whole number from 1`},
		"too much":         {head + "Batch,1,1,3,4,1e300\n", `jobs.csv:2:15: mem_per_task "1e300": want`},
		"out of order":     {head + "Batch,2,1,3,4,5\nBatch,1.5,1,3,4,5\n", `jobs.csv:3:7: submit_s "1.5": want 2 or later`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			jobs, err := simulate.ReadCSV("jobs.csv", strings.NewReader(tt.text))
			require.ErrorIs(t, err, simulate.ErrFile)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, jobs)
		})
	}
}

// With any bytes, there are jobs that make sense or an error.
func FuzzReadCSV(f *testing.F) {
	f.Add(head + "Batch,1,2,3,4,5\nService,1,2,3,4,5\n")
	f.Add(head + "Batch,1,2,\"3\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := simulate.ReadCSV("jobs.csv", strings.NewReader(text))
		if err != nil {
			require.Nil(t, jobs)
			return
		}
		last := time.Duration(0)
		for _, j := range jobs {
			require.GreaterOrEqual(t, j.Submit, last)
			require.GreaterOrEqual(t, j.Duration, time.Duration(0))
			require.Positive(t, j.Tasks)
			require.NoError(t, j.Need.Check())
			last = j.Submit
		}
	})
}
