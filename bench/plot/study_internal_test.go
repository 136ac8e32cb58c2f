package main

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
)

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.00004: "< 0.0001", 0.0006: "0.0006", 0.03254: "0.033", 0.9965: "0.997", 5.284: "5.28", 15522.4: "15522", 99.96: "100",
	} {
		require.Equal(t, want, digits(x))
	}
}

func TestMarkdown_ListsWhatDiffersFirst(t *testing.T) {
	sec := &section{
		title: "A title", paper: "It rains.", setup: "A day.",
		claims: []claim{
			{paper: "It rains.", here: "It does.", same: true},
			{paper: "It pours.", here: "It drips.", why: "it is summer"},
			{paper: "It snows.", here: "No."},
		},
	}
	sec.table.head = []string{"day", "mm"}
	sec.table.row("Monday", 0.5)
	text := string(markdown(origin{command: "c", machine: "m", date: time.Unix(0, 0)}, []*section{sec}))
	require.Contains(t, text, "`c`\n\nmade this file and its figures on 1970-01-01; machine: m.")
	require.Contains(t, text, `Of the 3 statements below, of the paper, of its simulator or of what this library is for, 1 hold here. What differs:

- It pours. Here: It drips. Why: it is summer.
- It snows. Here: No.

## A title

**The paper.** It rains.

**Here.** A day.

| stated | here |  |
|---|---|---|
| It rains. | It does. | same |
| It pours. | It drips. | **differs**: it is summer |
| It snows. | No. | **differs** |

| day | mm |
|---|---|
| Monday | 0.500 |
`)
	require.NotContains(t, text, "only show")
}

func TestMarkdown_HasNoListIfNothingDiffers(t *testing.T) {
	text := markdown(origin{}, []*section{{claims: []claim{{same: true}}}})
	require.Contains(t, string(text), ", 1 hold here.\n\n##")
}

// A logarithmic axis has no place for 0, and a bar that is cut off would be read
// as one that ends there.
func TestPanel_CutsOffNothingButWhatIsBelow(t *testing.T) {
	f := newFigure("f", "")
	p := f.panel("", axis{low: 1, high: 10, log: true}, axis{low: 1e-3, high: 1, log: true})
	require.Equal(t, plotter.XYs{{X: 0, Y: -3}, {X: 2, Y: 1}}, p.place(plotter.XYs{{X: 0, Y: 0}, {X: 100, Y: 10}}))
	require.NoError(t, p.line("line", 0, plotter.XYs{{X: 0, Y: 0}, {X: 20, Y: 5}}))
	for _, no := range []float64{math.NaN(), math.Inf(1)} {
		require.Error(t, p.line("line", 0, plotter.XYs{{X: 1, Y: no}, {X: 2, Y: 1}}))
	}
	svg, err := f.svg()
	require.NoError(t, err)
	wellFormed(t, string(svg))
	require.Equal(t, 1, bytes.Count(svg, []byte(">line<")))
	require.Contains(t, string(svg), ">100<")
}

func TestPanel_NamesEachLineOnce(t *testing.T) {
	f := newFigure("f", "")
	for range 2 {
		p := f.panel("", axis{high: 1}, axis{high: 1})
		require.NoError(t, p.line("twice", 0, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}))
	}
	svg, err := f.svg()
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(svg, []byte(">twice<")))
}

func TestOverTime_HasAPointForSoManyMinutes(t *testing.T) {
	used := make([]float64, 1000)
	for i := range used {
		used[i] = float64(i)
	}
	line := overTime(used)
	require.Len(t, line, 334) // of 3 minutes
	require.Equal(t, plotter.XY{X: 0.05, Y: 4}, line[1])
	require.Equal(t, float64(999), line[333].Y)
	require.Len(t, overTime(used[:360]), 360)
	require.Empty(t, overTime(nil))
}

func TestProcessor(t *testing.T) {
	require.Equal(t, "Model X, ", processor("processor\t: 0\nmodel name\t: Model X\nmodel name\t: Y\n"))
	require.Empty(t, processor("Hardware : none\n"))
}

func TestAxis_MarksPowersOfTenWithinIt(t *testing.T) {
	var labels []string
	a := axis{low: 0.1, high: 300, log: true}
	for _, tick := range a.ticks() {
		require.GreaterOrEqual(t, tick.Value, -1.0)
		require.LessOrEqual(t, tick.Value, math.Log10(300))
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	require.Equal(t, []string{"0.1", "1", "10", "100"}, labels)
	a = axis{low: 0.5, high: 50, log: true, labelled: []float64{0.5, 5}}
	require.Equal(t, "0.5", a.ticks()[0].Label)
	require.Nil(t, (&axis{high: 1}).ticks())
}
