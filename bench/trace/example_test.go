package trace_test

import (
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/bench/trace"
)

// An error in a file is described so that it can be found.
func ExampleCSV() {
	file := "job,submit_s,tasks,duration_s,cpu\n" +
		"a,0,3,10,500m\n" +
		"b,2.5,many,10,1\n"
	for job, err := range trace.CSV("jobs.csv", strings.NewReader(file), trace.Space()) {
		if err != nil {
			fmt.Println(err)
			break
		}
		w := job.Work[0]
		fmt.Printf("%s: %d tasks of %s for %v\n", job.ID, w.Count, trace.Space().Format(w.Need), w.Duration)
	}
	// Output:
	// a: 3 tasks of cpu=500m for 10s
	// trace: jobs.csv:3:7: tasks "many", want a whole number from 1 to 2147483647: invalid value
}
