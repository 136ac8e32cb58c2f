package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// origin is the run that a section comes from.
type origin struct {
	command string
	machine string
	date    time.Time
	short   bool // too short to say anything
}

// String returns the line below the title of a section.
func (o origin) String() string {
	line := fmt.Sprintf("%s%s by `%s`; machine: %s.*", madeOn, o.date.UTC().Format(time.DateOnly), o.command, o.machine)
	if o.short {
		line += "\n\n**Runs as short as these only show that the program works: nothing below says anything about scheduling.**"
	}
	return line
}

// The beginnings of lines in a section that say where it comes from.
const (
	madeOn = "*Made on "
	keptOn = "*Kept on "
)

// part is a section as it is in the text.
type part struct {
	title   string
	text    string // below the title, without newlines around it
	figures []file
}

// markdown writes the text of all sections.
func markdown(parts []part) []byte {
	var out bytes.Buffer
	out.WriteString("# Results\n\n`go -C bench/plot run .` makes this file and its figures. Each section says when and how it was made; " +
		"a run that leaves a study out, or has no recording for it, keeps its section as it is.\n" +
		"Time is virtual, so the machine decides how long that takes and not what comes out.\n\n" +
		"The paper is M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, \"Omega: flexible, scalable schedulers for large compute\n" +
		"clusters\", EuroSys 2013. Its workloads are Google's and not public; these are synthetic, so what is to be compared is the shape of\n" +
		"curves and what is how much more than what. Jobs, cells and decision times are simulated; what places and commits is this library.\n" +
		"Where the simulator that Google published with the paper was run on such workloads, its numbers are beside ours.\n\n")
	differences(&out, parts)
	for _, p := range parts {
		fmt.Fprintf(&out, "## %s\n\n%s\n\n", p.title, p.text)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n')
}

// statements is the head of the table of a section's claims.
const statements = "| stated | here |  |\n|---|---|---|\n"

// write returns the section as a part of the text.
func (s *section) write(title string, from origin) (part, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v\n\n**The paper.** %s\n\n**Here.** %s\n\n", from, s.paper, s.setup)
	for _, f := range s.figures {
		fmt.Fprintf(&out, "![%s](%s/%s.svg)\n\n", f.alt, figureDir, f.file)
	}
	out.WriteString(statements)
	for _, c := range s.claims {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", c.paper, c.here, c.verdict())
	}
	out.WriteByte('\n')
	s.table.write(&out)
	for _, m := range s.more {
		fmt.Fprintf(&out, "%s\n\n", m.text)
		m.table.write(&out)
	}
	p := part{title: title, text: strings.TrimSpace(out.String())}
	for _, f := range s.figures {
		svg, err := f.svg()
		if err != nil {
			return part{}, fmt.Errorf("%s: %w", f.file, err)
		}
		p.figures = append(p.figures, file{f.file + ".svg", svg})
	}
	return p, nil
}

// differences lists first the results that a reader looks for, of sections made in any
// run.
func differences(out *bytes.Buffer, parts []part) {
	all, same, open := 0, 0, 0
	var list bytes.Buffer
	for i := range parts {
		for _, row := range parts[i].statements() {
			all++
			verdict, why, _ := strings.Cut(row[2], ": ")
			switch verdict {
			case verdictSame:
				same++
				continue
			case verdictOpen:
				open++
			}
			fmt.Fprintf(&list, "- %s Here: %s", row[0], row[1])
			if verdict == verdictOpen {
				list.WriteString(" This is open.")
			}
			if why != "" {
				fmt.Fprintf(&list, " Why: %s.", why)
			}
			list.WriteByte('\n')
		}
	}
	fmt.Fprintf(out, "Of the %d statements below, of the paper, of its simulator or of what this library is for, %d hold here.", all, same)
	if open > 0 {
		fmt.Fprintf(out, " %d are open: the interval of what was measured does not tell.", open)
	}
	if same < all {
		fmt.Fprintf(out, " What differs or is open:\n\n%s", &list)
	} else {
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
}

// statements returns the rows of the table of claims.
func (p *part) statements() (rows [][3]string) {
	_, table, _ := strings.Cut(p.text, statements)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 {
			break
		}
		rows = append(rows, [3]string{strings.TrimPrefix(cells[0], "| "), cells[1], strings.TrimSuffix(cells[2], " |")})
	}
	return rows
}

const (
	verdictSame    = "same"
	verdictDiffers = "**differs**"
	verdictOpen    = "**open**"
)

// verdict returns the words for whether the claim holds.
func (c *claim) verdict() string {
	verdict := verdictDiffers
	switch {
	case c.same:
		return verdictSame
	case c.open:
		verdict = verdictOpen
	}
	if c.why != "" {
		verdict += ": " + c.why
	}
	return verdict
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
