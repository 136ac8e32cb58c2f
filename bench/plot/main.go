package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
)

func main() {
	// Cells are small and every commit makes a version of a machine.
	debug.SetGCPercent(400)
	program.Main("plot", func(ctx context.Context, args []string, _, progress io.Writer) error {
		return command(ctx, args, time.Now(), progress)
	})
}

// command is the program without the parts that belong to the process.
func command(ctx context.Context, args []string, now time.Time, progress io.Writer) error {
	all := studies()
	flags := flag.NewFlagSet("plot", flag.ContinueOnError)
	flags.SetOutput(progress)
	only := flags.String("only", "", "studies to run instead of all, by commas, the sections of the others being kept: "+strings.Join(studyNames(all), ", "))
	hours := flags.Float64("hours", 6, "virtual time of each run")
	seeds := flags.Int("seeds", 5, "runs for each row, but for those of figures 7, 8 and 9, which have one, and of quincy, which has 20 at least")
	parallel := flags.Int("parallel", runtime.GOMAXPROCS(0), "runs at a time")
	quick := flags.Bool("quick", false, "one seed and 72 s of virtual time, to see that all works")
	out := flags.String("o", "..", "existing `folder` for "+textFile+" and "+figureDir)
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	if *quick {
		*hours, *seeds = quickHours, 1
	}
	if !(*hours >= quickHours && *hours <= maxHours) || *seeds < 1 || *parallel < 1 {
		return fmt.Errorf("hours %v, seeds %d, parallel %d: want %v to %d hours, and 1 or more of the others",
			*hours, *seeds, *parallel, quickHours, maxHours)
	}
	chosen, err := choose(all, *only)
	if err != nil {
		return err
	}
	if err := check(*out); err != nil { // now, and not after minutes
		return err
	}

	before, err := previous(*out)
	if err != nil {
		return err
	}
	from := origin{machine: machine(), date: now, short: *hours < 1}
	from.command = fmt.Sprintf("go -C bench/plot run . -hours %g -seeds %d", *hours, *seeds)
	if *only != "" {
		from.command += " -only " + *only
	}

	var parts []part
	for _, st := range all {
		old, had := before[st.title]
		if why := st.left(chosen); had && why != "" {
			fmt.Fprintf(progress, "%s: kept: %s\n", st.name, why)
			parts = append(parts, old.kept(now, why))
			continue
		}
		if !st.among(chosen) {
			continue
		}
		began := time.Now()
		sec, err := st.run(ctx, settings{
			horizon: time.Duration(*hours * float64(time.Hour)), seeds: *seeds, quick: *quick, parallel: *parallel,
			progress: func(runs, all int) {
				fmt.Fprintf(progress, "\r%s: %d of %d runs", st.name, runs, all)
			},
		})
		fmt.Fprintf(progress, " %.1f s\n", time.Since(began).Seconds())
		if err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
		p, err := sec.write(st.title, from)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	var figures []file
	for _, p := range parts {
		figures = append(figures, p.figures...)
	}
	return publish(*out, markdown(parts), figures)
}

// among reports whether the study is one of some.
func (s *study) among(some []study) bool { return slices.Contains(studyNames(some), s.name) }

// left returns why the section of an earlier run is kept, "" if it is not.
func (s *study) left(chosen []study) string {
	if !s.among(chosen) {
		return "the run was of other studies"
	}
	if s.lacks != nil {
		if missing := s.lacks(); len(missing) > 0 {
			return "there was no recording of " + strings.Join(missing, ", ")
		}
	}
	return ""
}

const (
	quickHours = 0.02
	maxHours   = 30 * 24
)

func studyNames(all []study) (names []string) {
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

// choose returns the named studies in the order of all, or all for "".
func choose(all []study, only string) ([]study, error) {
	if only == "" {
		return all, nil
	}
	names := strings.Split(only, ",")
	for _, n := range names {
		if !slices.Contains(studyNames(all), n) {
			return nil, fmt.Errorf("study %q: want some of %s", n, strings.Join(studyNames(all), ","))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s study) bool { return !slices.Contains(names, s.name) }), nil
}
