package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/bench/sim/experiments"
)

// rogue is an experiment that the paper does not have: the cost for others of one
// scheduler that takes too much, without and with a measure against it.
func rogue(ctx context.Context, s settings) (*section, error) {
	rows, err := experiments.Rogue(ctx, s.sim(s.seeds))
	if err != nil {
		return nil, err
	}
	f, err := rogueFigure(rows)
	if err != nil {
		return nil, err
	}
	t := table{head: []string{
		"rogue", "measure", "others: wait to full s", "p90", "jobs left", "share", "preempted", "rogue: share", "preempted",
		"named after s", "in seeds", "others accused", "CPU used",
	}}
	for i := range rows {
		r := &rows[i]
		found := ""
		if r.FoundIn > 0 {
			found = fmt.Sprintf("%.0f", r.Found)
		}
		t.row(r.Rogue, r.Measure, r.Full, r.FullP90, percent(left(r)), percent(r.Share), fmt.Sprintf("%.0f", r.Preempted),
			percent(r.RogueShare), fmt.Sprintf("%.0f", r.RoguePreempted), found, r.FoundIn, r.Accused, percent(r.CPU))
	}
	return &section{
		paper: "Nobody enforces fairness in a cell. Schedulers have limits on what they may claim and on the jobs that they admit, " +
			"and the system is watched, so that what is wrong can be put right afterwards. Guarantees are left as future work, and there is no figure. " +
			"What is stated below is what this library is for.",
		setup: fmt.Sprintf("50 machines, half of them in use where all are honest. Five schedulers with the same jobs, one of which may be a rogue: "+
			"it has 8 times as many tasks, tasks 8 times as large, keeps everything for an hour longer, or submits a job as large as the cell every ten minutes. "+
			"Against it there is nothing, a limit at the fair share for each, the gate of package drf, that gate and a rogue that does not ask it, or an "+
			"audit every minute that has what is over the fair share preempted. The audit looks on in all rows, and names who is over by most in 20 audits in a row. "+
			"Waits are of jobs that were placed whole, of the four others; left are those that were not by the end; %s.", runs(s.seeds, s.horizon)),
		figures: []*figure{f},
		table:   t,
		claims:  rogueClaims(rows),
	}, nil
}

// left is the part of the others' jobs that were not placed whole by the end.
func left(r *experiments.RogueRow) float64 { return r.Left / max(r.Submitted, 1) }

// rogueFigure draws the room that is left to the others: by the behaviour of the rogue,
// a bar for each measure.
func rogueFigure(rows []experiments.RogueRow) (*figure, error) {
	f := newFigure("rogue", "Wait of the jobs of four schedulers, and their share of the cell, by what a fifth one does and what is there against it")
	var kinds, measures []string
	for _, r := range rows {
		if len(kinds) == 0 || kinds[len(kinds)-1] != r.Rogue {
			kinds = append(kinds, r.Rogue)
		}
		if len(kinds) == 1 {
			measures = append(measures, r.Measure)
		}
	}
	var labels []string
	for _, k := range kinds {
		if k == "none" {
			k = "nothing of that"
		}
		labels = append(labels, lines(k, 9))
	}
	x := axis{label: "what the fifth does", low: -0.5, high: float64(len(kinds)) - 0.5, named: labels}
	width := 0.8 / float64(len(measures))
	for _, panel := range []struct {
		y  axis
		of func(*experiments.RogueRow) float64
	}{
		{axis{label: "mean wait to full [s]", low: 1e-2, high: 1e4, log: true}, func(r *experiments.RogueRow) float64 { return r.Full }},
		{axis{label: "share of the cell held", high: 0.5}, func(r *experiments.RogueRow) float64 { return r.Share }},
	} {
		p := f.panel("the four others", x, panel.y)
		for i := range rows {
			r, m := &rows[i], i%len(measures)
			at := float64(i/len(measures)) + (float64(m)-float64(len(measures)-1)/2)*width
			v, name := panel.of(r), r.Measure
			if name == "none" {
				name = "no measure"
			}
			if err := p.bar(name, m, at, 0.9*width, v, v, v); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// lines breaks a text into lines of so many letters, or of one word.
func lines(text string, most int) string {
	var out strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case length == 0:
		case length+1+len(word) > most:
			out.WriteByte('\n')
			length = 0
		default:
			out.WriteByte(' ')
			length++
		}
		out.WriteString(word)
		length += len(word)
	}
	return out.String()
}

// containment is the effect of a measure against each of the rogues.
type containment struct {
	fails        []string // the rogues against which others lose as much as without it, or more
	least, most  *experiments.RogueRow
	mostLeft     float64
	greatestHeld float64 // by a rogue
}

// contained compares the rows of a measure with those without one. A rogue is
// contained if the others wait less, and no more of their jobs are left.
func contained(by map[string][]*experiments.RogueRow, measure string) (c containment) {
	for i, r := range by[measure] {
		if without := by["none"][i]; r.Full >= without.Full || r.Left > without.Left {
			c.fails = append(c.fails, r.Rogue)
		}
		if c.least == nil || r.Full < c.least.Full {
			c.least = r
		}
		if c.most == nil || r.Full > c.most.Full {
			c.most = r
		}
		c.mostLeft = max(c.mostLeft, left(r))
		c.greatestHeld = max(c.greatestHeld, r.RogueShare)
	}
	return c
}

// waits describes the waits of the others.
func (c *containment) waits() string {
	return fmt.Sprintf("They wait %s s (%s) to %s s (%s), and up to %s of their jobs are left",
		digits(c.least.Full), c.least.Rogue, digits(c.most.Full), c.most.Rogue, percent(c.mostLeft))
}

// says adds to waits the rogues against which the measure does not help.
func (c *containment) says() string {
	if len(c.fails) == 0 {
		return c.waits() + "."
	}
	return c.waits() + ". No better than without it: " + strings.Join(c.fails, ", ") + "."
}

func rogueClaims(rows []experiments.RogueRow) []claim {
	honest := make(map[string]*experiments.RogueRow) // by the measure
	by := make(map[string][]*experiments.RogueRow)   // by the measure, in the order of the rogues
	accused, falsely := 0, 0
	for i := range rows {
		r := &rows[i]
		if accused += r.Accused; r.Rogue == "none" {
			falsely += r.FoundIn
			honest[r.Measure] = r
		} else {
			by[r.Measure] = append(by[r.Measure], r)
		}
	}
	without, limits, gate, preemption := contained(by, "none"), contained(by, "limits"), contained(by, "gate"), contained(by, "preemption")
	alone := honest["none"]

	var missed []string
	named, seeds, audited := 0, 0, 0
	for _, r := range by["none"] {
		if named, seeds = named+r.FoundIn, seeds+r.Seeds; r.FoundIn < r.Seeds {
			missed = append(missed, fmt.Sprintf("%s: %d of %d", r.Rogue, r.FoundIn, r.Seeds))
		}
	}
	for i := range rows {
		audited += rows[i].Seeds
	}
	notNamed := ""
	if missed != nil {
		notNamed = " Fewer: " + strings.Join(missed, ", ") + "."
	}
	deaf, deafer := 0, 0.0 // rogues that gain by not asking, and by how much
	for i, r := range by["gate, not asked"] {
		if asked := by["gate"][i]; r.Full > asked.Full {
			deaf++
		}
		deafer = max(deafer, r.Full/by["none"][i].Full)
	}
	return []claim{
		{
			paper: "A rogue harms the others if nothing is done about it: they wait ten times as long, or more.",
			here:  fmt.Sprintf("%s. Without a rogue they wait %s s.", without.waits(), digits(alone.Full)),
			same:  without.least.Full >= 10*alone.Full,
		},
		{
			paper: "The audit finds every rogue that nothing is done about.",
			here:  fmt.Sprintf("It names it in %d of %d runs.%s", named, seeds, notNamed),
			same:  named == seeds,
			why: "it names who is over its fair share only while somebody is short for 20 minutes: what is taken and given back in bursts, " +
				"so that the others get theirs in between, looks as if there were much to do",
		},
		{
			paper: "The audit names nobody who is honest.",
			here:  fmt.Sprintf("Somebody honest is named %d times, in %d runs.", accused+falsely, audited),
			same:  accused+falsely == 0,
		},
		{
			paper: "Limits at the fair share contain a rogue.",
			here:  fmt.Sprintf("It holds %s at most. %s", percent(limits.greatestHeld), limits.says()),
			same:  len(limits.fails) == 0 && limits.greatestHeld <= 0.2+1e-9,
			why: fmt.Sprintf("limits hold back the bursts of honest schedulers as well, which wait %s s with them where nobody is a rogue",
				digits(honest["limits"].Full)),
		},
		{
			paper: "The gate contains a rogue that asks it.",
			here:  gate.says(),
			same:  len(gate.fails) == 0,
			why:   "the gate decides who takes next, and not who gives back: what is taken while nobody waits is kept",
		},
		{
			paper: "The gate binds only those who ask.",
			here: fmt.Sprintf("Beside one that does not ask, others wait longer than beside one that does in %d of %d cases, "+
				"and up to %.1f times as long as without a gate.", deaf, len(by["gate"]), deafer),
			same: deaf == len(by["gate"]),
		},
		{
			paper: "To have what is over the fair share given back contains a rogue.",
			here:  preemption.says(),
			same:  len(preemption.fails) == 0,
			why:   "what is preempted is claimed anew, and has to be found over the fair share again",
		},
	}
}
