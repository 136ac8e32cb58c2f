package main

import (
	"bytes"
	"fmt"
	"time"
)

// origin is where results come from.
type origin struct {
	command string
	machine string
	date    time.Time
	short   bool // too short to say anything
}

// markdown writes what there is to say about all sections.
func markdown(from origin, sections []*section) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Results\n\n`%s`\n\nmade this file and its figures on %s; machine: %s. ", from.command, from.date.UTC().Format(time.DateOnly), from.machine)
	out.WriteString("Time is virtual, so the machine decides how long that takes and not what comes out.\n\n" +
		"The paper is M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, \"Omega: flexible, scalable schedulers for large compute\n" +
		"clusters\", EuroSys 2013. Its workloads are Google's and not public; these are synthetic, so what is to be compared is the shape of\n" +
		"curves and what is how much more than what. Jobs, cells and decision times are simulated; what places and commits is this library.\n" +
		"Where the simulator that Google published with the paper was run on such workloads, its numbers are beside ours.\n\n")
	if from.short {
		out.WriteString("**Runs as short as these only show that the program works: nothing below says anything about scheduling.**\n\n")
	}
	differences(&out, sections)
	for _, s := range sections {
		fmt.Fprintf(&out, "## %s\n\n**The paper.** %s\n\n**Here.** %s\n\n", s.title, s.paper, s.setup)
		for _, f := range s.figures {
			fmt.Fprintf(&out, "![%s](%s/%s.svg)\n\n", f.alt, figureDir, f.file)
		}
		verdicts := table{head: []string{"stated", "here", ""}}
		for _, c := range s.claims {
			verdicts.row(c.paper, c.here, c.verdict())
		}
		verdicts.write(&out)
		s.table.write(&out)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n')
}

// differences lists first what a reader looks for.
func differences(out *bytes.Buffer, sections []*section) {
	all, differ := 0, 0
	var list bytes.Buffer
	for _, s := range sections {
		for _, c := range s.claims {
			if all++; !c.same {
				differ++
				fmt.Fprintf(&list, "- %s Here: %s", c.paper, c.here)
				if c.why != "" {
					fmt.Fprintf(&list, " Why: %s.", c.why)
				}
				fmt.Fprintln(&list)
			}
		}
	}
	fmt.Fprintf(out, "Of the %d statements below, of the paper, of its simulator or of what this library is for, %d hold here.", all, all-differ)
	if differ > 0 {
		fmt.Fprintf(out, " What differs:\n\n%s", &list)
	} else {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

// verdict says whether the claim holds.
func (c *claim) verdict() string {
	switch {
	case c.same:
		return "same"
	case c.why == "":
		return "**differs**"
	}
	return "**differs**: " + c.why
}

// write prints the table. A table without rows is not printed.
func (t *table) write(out *bytes.Buffer) {
	if len(t.rows) == 0 {
		return
	}
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(out, "| %s ", c)
		}
		fmt.Fprintln(out, "|")
	}
	line(t.head)
	for range t.head {
		fmt.Fprint(out, "|---")
	}
	fmt.Fprintln(out, "|")
	for _, r := range t.rows {
		line(r)
	}
	fmt.Fprintln(out)
}
