package main

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is panels beside each other, with one legend for all.
type figure struct {
	file   string // without its ending
	alt    string // for readers that cannot see it
	panels []*panel
	legend plot.Legend
	named  []string // the lines in the legend
}

// axis is one axis of a panel. Values below its low end are drawn there, so that
// a logarithmic axis has a place for 0. Logarithms are taken here: with the scale
// of package plot, the room for an axis's name would be reserved where it is not.
type axis struct {
	label    string
	low      float64
	high     float64 // at least: more if something is drawn there
	log      bool
	labelled []float64 // instead of round numbers
	named    []string  // instead of numbers: 0, 1, 2 and so on
}

// place returns where on the axis a value is, and makes the axis reach there.
func (a *axis) place(v float64) float64 {
	v = max(v, a.low)
	if v > a.high && !math.IsInf(v, 0) { // nor is it NaN: both are refused when drawn
		a.high = v
	}
	if a.log {
		return math.Log10(v)
	}
	return v
}

// ticks returns where the axis has marks, nil if that is left to plot.
func (a *axis) ticks() (ticks plot.ConstantTicks) {
	label := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case a.named != nil:
		for i, name := range a.named {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
	case a.labelled != nil:
		for _, v := range a.labelled {
			ticks = append(ticks, plot.Tick{Value: a.place(v), Label: label(v)})
		}
	case a.log: // powers of ten, and small marks between them
		for n := int(math.Floor(math.Log10(a.low))); math.Pow10(n) <= a.high; n++ {
			for i := 1.0; i < 10; i++ {
				v := i * math.Pow10(n)
				if v < a.low || v > a.high {
					continue
				}
				tick := plot.Tick{Value: a.place(v)}
				if i == 1 {
					tick.Label = label(v)
				}
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// size of a figure.
const (
	panelWidth   = 250 * vg.Length(1)
	panelHeight  = 210 * vg.Length(1)
	legendMargin = 8 * vg.Length(1) // on either side of the legend
	panelGap     = 18 * vg.Length(1)
)

func newFigure(file, alt string) *figure {
	f := &figure{file: file, alt: alt, legend: plot.NewLegend()}
	f.legend.Top, f.legend.Left = true, true
	f.legend.YPosition = draw.PosCenter
	f.legend.Padding = 4
	f.legend.ThumbnailWidth = 26
	f.legend.TextStyle.Font = typeface(9)
	return f
}

func typeface(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// panel adds an empty panel and returns it.
func (f *figure) panel(title string, x, y axis) *panel {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font = typeface(11)
	p.Title.Padding = 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = typeface(10)
		a.Label.Padding = 3
		a.Tick.Label.Font = typeface(8.5)
		a.Tick.Length = 4
		a.Padding = 0
	}
	added := &panel{Plot: p, figure: f, x: x, y: y}
	f.panels = append(f.panels, added)
	return added
}

// panel is a panel of a figure.
type panel struct {
	*plot.Plot
	figure *figure
	x, y   axis
}

// finish gives the axes their ends, now that all is on them.
func (p *panel) finish() *plot.Plot {
	for _, a := range []struct {
		of *plot.Axis
		is *axis
	}{{&p.X, &p.x}, {&p.Y, &p.y}} {
		a.of.Label.Text = a.is.label
		a.of.Min, a.of.Max = a.is.place(a.is.low), a.is.place(a.is.high)
		if ticks := a.is.ticks(); ticks != nil {
			a.of.Tick.Marker = ticks
		}
	}
	return p.Plot
}

// place is the points on the axes.
func (p *panel) place(points plotter.XYs) plotter.XYs {
	placed := make(plotter.XYs, len(points))
	for i, at := range points {
		placed[i] = plotter.XY{X: p.x.place(at.X), Y: p.y.place(at.Y)}
	}
	return placed
}

// name puts something into the legend, once.
func (p *panel) name(name string, shown ...plot.Thumbnailer) {
	if name == "" || slices.Contains(p.figure.named, name) {
		return
	}
	p.figure.named = append(p.figure.named, name)
	p.figure.legend.Add(name, shown...)
}

// line draws a line in a style of [styleOf], with marks at its points unless they
// are too many.
func (p *panel) line(name string, style int, points plotter.XYs) error {
	const markable = 20
	line, marks, err := plotter.NewLinePoints(p.place(points))
	if err != nil {
		return err
	}
	s := styleOf(style)
	line.Color, line.Width, line.Dashes = s.color, 1.3, s.dashes
	marks.Color, marks.Shape, marks.Radius = s.color, s.shape, 2.2
	if len(points) > markable {
		line.Width = 1
		p.Add(line)
		p.name(name, line)
		return nil
	}
	p.Add(line, marks)
	p.name(name, line, marks)
	return nil
}

// limit draws a thin horizontal line.
func (p *panel) limit(name string, y float64) error {
	line, err := plotter.NewLine(p.place(plotter.XYs{{X: p.x.low, Y: y}, {X: p.x.high, Y: y}}))
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = color.Gray{0x80}, 0.7, []vg.Length{2, 2}
	p.Add(line)
	p.name(name, line)
	return nil
}

// bar draws a bar around x from 0 to a value, with a line from the least value
// to the greatest.
func (p *panel) bar(name string, style int, x, width, value, least, most float64) error {
	left, right := x-width/2, x+width/2
	box, err := plotter.NewPolygon(p.place(plotter.XYs{{X: left}, {X: left, Y: value}, {X: right, Y: value}, {X: right}}))
	if err != nil {
		return err
	}
	box.Color, box.Width = styleOf(style).color, 0
	p.Add(box)
	p.name(name, box)
	if least == most {
		return nil
	}
	span, err := plotter.NewLine(p.place(plotter.XYs{{X: x, Y: least}, {X: x, Y: most}}))
	if err != nil {
		return err
	}
	span.Width = 0.8
	p.Add(span)
	return nil
}

// mark draws diamonds.
func (p *panel) mark(name string, points plotter.XYs) error {
	marks, err := plotter.NewScatter(p.place(points))
	if err != nil {
		return err
	}
	marks.Color, marks.Shape, marks.Radius = color.Black, diamond{}, 3.2
	p.Add(marks)
	p.name(name, marks)
	return nil
}

// legendWidth returns the width of the legend: its texts are as wide as the font
// says that they are measured by, which is part of this program.
func (f *figure) legendWidth() vg.Length {
	if len(f.named) == 0 {
		return 0
	}
	widest := vg.Length(0)
	for _, name := range f.named {
		widest = max(widest, f.legend.TextStyle.Rectangle(" "+name).Max.X)
	}
	return legendMargin + f.legend.ThumbnailWidth + widest + legendMargin
}

// svg renders the figure. The same figure gives the same bytes.
func (f *figure) svg() ([]byte, error) {
	canvas := vgsvg.New(vg.Length(len(f.panels))*(panelWidth+panelGap)+f.legendWidth(), panelHeight)
	f.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	return fitted(out.Bytes()), nil
}

// drawnText is a text of an SVG as vgsvg writes it, with its style, size and letters.
var drawnText = regexp.MustCompile(`<text ([^>]*\n\tstyle="font-family:Liberation Sans;([^"]*)font-size:([0-9.]+)px[^"]*")>([^<]*)</text>`)

// fitted has each text be as long as it was measured, with any font that it is shown with.
// Fonts are named and not embedded. Where Liberation Sans and those of its measures are
// absent, another one would be cut off, or run into its neighbours.
func fitted(svg []byte) []byte {
	svg = drawnText.ReplaceAllFunc(svg, func(text []byte) []byte {
		m := drawnText.FindSubmatch(text)
		size, err := strconv.ParseFloat(string(m[3]), 64)
		if letters := html.UnescapeString(string(m[4])); err == nil && letters != "" {
			style := draw.TextStyle{Font: typeface(vg.Length(size)), Handler: plot.DefaultTextHandler}
			return fmt.Appendf(nil, `<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" %s>%s</text>`,
				style.Width(letters).Points(), m[1], m[4])
		}
		return text
	})
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// draw draws the panels, aligned, and the legend to their right.
func (f *figure) draw(all draw.Canvas) {
	all.SetColor(color.White)
	all.Fill(all.Path())
	tiles := draw.Tiles{Rows: 1, Cols: len(f.panels), PadX: panelGap, PadTop: 4, PadBottom: 4, PadLeft: 4}
	panels := make([]*plot.Plot, len(f.panels))
	for i, p := range f.panels {
		panels[i] = p.finish()
	}
	legend := f.legendWidth()
	for i, c := range plot.Align([][]*plot.Plot{panels}, tiles, draw.Crop(all, 0, -legend, 0, 0))[0] {
		panels[i].Draw(c)
	}
	f.legend.Draw(draw.Crop(all, all.Max.X-legend+legendMargin, 0, 0, -26))
}
