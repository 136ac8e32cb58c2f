package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/bench/internal/recordings"
)

func main() {
	program.Main("locality", command)
}

// experiment is something that the command knows to run.
type experiment struct {
	name, shows string
	data        string // the folder of recorded jobs that it needs, "" for none
	run         func(context.Context, options) ([]row, error)
}

// options are the values of the flags.
type options struct {
	seed uint64
	data string // the folder of data of the experiment
	part int    // divides how much is simulated, for tests; 0 is 1
}

// of returns the part of n that is to be simulated.
func (o options) of(n int) int { return n / max(o.part, 1) }

// row is a line of the table of an experiment.
type row struct {
	Case     string  `json:"case"`
	Rule     string  `json:"rule"`
	Local    float64 `json:"local"`             // share of tasks that ran where their data is
	Formula  float64 `json:"formula,omitempty"` // the share by the paper's formula
	Mean     float64 `json:"mean_s,omitempty"`  // how long jobs take
	Relative float64 `json:"relative,omitempty"`
	Makespan float64 `json:"makespan_s,omitempty"`
}

func all() []experiment {
	return []experiment{
		{name: "share", shows: "share of local tasks, by offers passed up, beside the paper's formula", run: share},
		{name: "sticky", shows: "jobs of 400 tasks that share 400 slots fairly", run: sticky},
		{name: "popular", shows: "SPARK-18886: 500 tasks whose data is all on one of 100 nodes", run: popular},
		{name: "learned", shows: "fixed waits and a learned one, as the load changes", run: learned},
		{name: "unseen", shows: "the same, under loads that the learner's constants were not chosen by", run: unseen},
		{name: "hadoop", shows: "logs of 2009, 90 % of slots busy otherwise", data: "rumen-hadoop-2009", run: hadoop},
		{name: "facebook", shows: "an hour of 2010, inputs as 3 random replicas", data: "swim-facebook", run: facebook},
	}
}

// command is the program without the parts that belong to the process.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("locality", flag.ContinueOnError)
	flags.SetOutput(progress)
	names := make([]string, 0, len(all()))
	for _, e := range all() {
		names = append(names, e.name)
	}
	name := flags.String("experiment", "", "what to run: "+strings.Join(names, ", ")+"; all of them if empty")
	data := flags.String("data", recordings.Folder(".."), "folder of recorded workloads, by default that of $CELLSCHED_DATA")
	asJSON := flags.Bool("json", false, "print JSON, a line for each experiment")
	seed := flags.Uint64("seed", 1, "of all that is random")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	found := false
	for _, e := range all() {
		if *name != "" && e.name != *name {
			continue
		}
		found = true
		o := options{seed: *seed, data: filepath.Join(*data, e.data)}
		if e.data != "" {
			if _, err := os.Stat(o.data); err != nil {
				fmt.Fprintf(progress, "%s: skipped, no data: %v; -data says where it is\n", e.name, err)
				continue
			}
		}
		rows, err := e.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if err := show(out, e, rows, *asJSON); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("experiment %q: want one of %s", *name, strings.Join(names, ", "))
	}
	return nil
}

// show prints the rows of an experiment.
func show(w io.Writer, e experiment, rows []row, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(struct {
			Experiment string `json:"experiment"`
			Rows       []row  `json:"rows"`
		}{e.name, rows})
	}
	fmt.Fprintf(w, "%s: %s\n\n", e.name, e.shows)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := []struct {
		name string
		cell func(row) (float64, string)
	}{
		{"local", func(r row) (float64, string) { return 1, fmt.Sprintf("%.1f %%", 100*r.Local) }},
		{"formula", func(r row) (float64, string) { return r.Formula, fmt.Sprintf("%.1f %%", 100*r.Formula) }},
		{"mean", func(r row) (float64, string) { return r.Mean, fmt.Sprintf("%.1f s", r.Mean) }},
		{"by the best", func(r row) (float64, string) { return r.Relative, fmt.Sprintf("%.3f", r.Relative) }},
		{"makespan", func(r row) (float64, string) { return r.Makespan, fmt.Sprintf("%.1f s", r.Makespan) }},
	}
	fmt.Fprint(t, "\t\t")
	for _, c := range columns {
		if used(rows, c.cell) {
			fmt.Fprint(t, c.name, "\t")
		}
	}
	fmt.Fprintln(t)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t", r.Case, r.Rule)
		for _, c := range columns {
			value, text := c.cell(r)
			switch {
			case !used(rows, c.cell):
			case value == 0:
				fmt.Fprint(t, "\t")
			default:
				fmt.Fprint(t, text, "\t")
			}
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// used reports whether any row has something in a column.
func used(rows []row, cell func(row) (float64, string)) bool {
	for _, r := range rows {
		if value, _ := cell(r); value != 0 {
			return true
		}
	}
	return false
}
