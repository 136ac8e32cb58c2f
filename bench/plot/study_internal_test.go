package main

import (
	"bytes"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
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

func TestMarkdown_ListsDifferencesFirst(t *testing.T) {
	sec := &section{
		paper: "It rains.", setup: "A day.",
		claims: []claim{
			{paper: "It rains.", here: "It does.", same: true},
			{paper: "It pours.", here: "It drips.", why: "it is summer: July"},
			{paper: "It snows.", here: "No."},
			{paper: "It hails.", here: "Perhaps.", open: true, why: "one day"},
		},
	}
	sec.table.head = []string{"day", "mm"}
	sec.table.row("Monday", 0.5)
	p, err := sec.write("A title", origin{command: "c", machine: "m", date: time.Unix(0, 0)})
	require.NoError(t, err)
	old := part{title: "An old one", text: "*Made on 1969-01-01 by `d`; machine: n.*\n\n| stated | here |  |\n|---|---|---|\n| It blew. | No. | **differs** |\n| It was dry. | So it was. | same |"}
	text := string(markdown([]part{p, old}))
	require.Contains(t, text, `Of the 6 statements below, of the paper, of its simulator or of what this library is for, 2 hold here. `+
		`1 are open: the interval of what was measured does not tell. What differs or is open:

- It pours. Here: It drips. Why: it is summer: July.
- It snows. Here: No.
- It hails. Here: Perhaps. This is open. Why: one day.
- It blew. Here: No.

## A title

*Made on 1970-01-01 by `+"`c`"+`; machine: m.*

**The paper.** It rains.

**Here.** A day.

| stated | here |  |
|---|---|---|
| It rains. | It does. | same |
| It pours. | It drips. | **differs**: it is summer: July |
| It snows. | No. | **differs** |
| It hails. | Perhaps. | **open**: one day |

| day | mm |
|---|---|
| Monday | 0.500 |

## An old one
`)
	require.NotContains(t, text, "only show")
}

func TestMarkdown_HasNoListIfNothingDiffers(t *testing.T) {
	p, err := (&section{claims: []claim{{same: true}}}).write("A title", origin{})
	require.NoError(t, err)
	require.Contains(t, string(markdown([]part{p})), ", 1 hold here.\n\n##")
}

// A logarithmic axis has no place for 0, and a bar that is cut off would be read
// as one that ends there.
func TestPanel_CutsOffOnlyValuesBelow(t *testing.T) {
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

// Legends were as wide as 130 points, with any texts.
func TestFigure_HasRoomForItsLegend(t *testing.T) {
	f := newFigure("f", "")
	for i, name := range []string{"short", strings.Repeat("WIDEST ", 9) + "& <last>"} {
		require.NoError(t, f.panel("title", axis{label: "x", high: 1}, axis{label: "y", high: 1}).line(name, i, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}))
	}
	svg, err := f.svg()
	require.NoError(t, err)
	require.Contains(t, string(svg), "WIDEST &amp; &lt;last&gt;<")
	within(t, string(svg))
}

// A figure without a legend has no room for one.
func TestFigure_WithoutALegendIsItsPanels(t *testing.T) {
	f := newFigure("f", "")
	require.NoError(t, f.panel("title", axis{high: 1}, axis{high: 1}).line("", 0, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}))
	svg, err := f.svg()
	require.NoError(t, err)
	require.Contains(t, string(svg), `width="268pt"`)
}

var (
	canvasOf = regexp.MustCompile(`<svg width="([0-9.]+)pt"`)
	textOf   = regexp.MustCompile(`(?s)<text (.*?)>([^<]*)</text>`)
	lengthOf = regexp.MustCompile(`textLength="([0-9.]+)" lengthAdjust="spacingAndGlyphs"`)
	xOf      = regexp.MustCompile(` x="(-?[0-9.]+)"`)
)

// within checks that all texts say how long they are, and that those which are not
// turned end within the figure.
func within(t *testing.T, svg string) {
	t.Helper()
	number := func(of *regexp.Regexp, text string) float64 {
		m := of.FindStringSubmatch(text)
		require.NotNil(t, m, "%v in %s", of, text)
		x, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		return x
	}
	width, texts := number(canvasOf, svg), 0
	for _, m := range textOf.FindAllStringSubmatch(svg, -1) {
		if m[2] == "" {
			continue
		}
		length := number(lengthOf, m[1])
		// No letter of Liberation Sans is as wide as the text is high, and none is nothing.
		require.Greater(t, length, 1.5*float64(len([]rune(html.UnescapeString(m[2])))), m[2])
		if strings.Contains(m[1], `transform="scale(1, -1)"`) && !strings.Contains(m[1], "rotate") {
			require.Less(t, number(xOf, m[1])+length, width, m[2])
		}
		texts++
	}
	require.Greater(t, texts, 2)
}
