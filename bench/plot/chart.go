package main

import (
	"bytes"
	"image/color"
	"slices"

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
	alt    string // for those who cannot see it
	panels []*plot.Plot
	legend plot.Legend
	named  []string // what is in the legend
}

// axis is one axis of a panel. What is drawn beyond its limits is drawn at
// them, so that a logarithmic axis has a place for 0.
type axis struct {
	label    string
	low      float64
	high     float64
	log      bool
	labelled []float64 // instead of round numbers
}

// size of a figure.
const (
	panelWidth  = 250 * vg.Length(1)
	panelHeight = 210 * vg.Length(1)
	legendWidth = 130 * vg.Length(1)
	panelGap    = 18 * vg.Length(1)
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
	for _, a := range []struct {
		of *plot.Axis
		is axis
	}{{&p.X, x}, {&p.Y, y}} {
		a.of.Label.Text = a.is.label
		a.of.Label.TextStyle.Font = typeface(10)
		a.of.Label.Padding = 3
		a.of.Tick.Label.Font = typeface(8.5)
		a.of.Tick.Length = 4
		a.of.Padding = 0
		a.of.Min, a.of.Max = a.is.low, a.is.high
		if a.is.log {
			a.of.Scale = plot.LogScale{}
			a.of.Tick.Marker = plot.LogTicks{Prec: -1}
		}
		if a.is.labelled != nil {
			var ticks plot.ConstantTicks
			for _, v := range a.is.labelled {
				ticks = append(ticks, plot.Tick{Value: v, Label: digits(v)})
			}
			a.of.Tick.Marker = ticks
		}
	}
	f.panels = append(f.panels, p)
	return &panel{Plot: p, figure: f, x: x, y: y}
}

// panel is a panel of a figure.
type panel struct {
	*plot.Plot
	figure *figure
	x, y   axis
}

// clamp is the points within the axes.
func (p *panel) clamp(points plotter.XYs) plotter.XYs {
	within := make(plotter.XYs, len(points))
	for i, at := range points {
		within[i] = plotter.XY{X: min(max(at.X, p.x.low), p.x.high), Y: min(max(at.Y, p.y.low), p.y.high)}
	}
	return within
}

// name puts something into the legend, once.
func (p *panel) name(name string, shown ...plot.Thumbnailer) {
	if name == "" || slices.Contains(p.figure.named, name) {
		return
	}
	p.figure.named = append(p.figure.named, name)
	p.figure.legend.Add(name, shown...)
}

// line draws a line in a style, one of which each number is, with marks at its
// points unless they are too many.
func (p *panel) line(name string, style int, points plotter.XYs) error {
	const markable = 20
	line, marks, err := plotter.NewLinePoints(p.clamp(points))
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
	line, err := plotter.NewLine(p.clamp(plotter.XYs{{X: p.x.low, Y: y}, {X: p.x.high, Y: y}}))
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
	box, err := plotter.NewPolygon(p.clamp(plotter.XYs{{X: left}, {X: left, Y: value}, {X: right, Y: value}, {X: right}}))
	if err != nil {
		return err
	}
	box.Color, box.LineStyle.Width = styleOf(style).color, 0
	p.Add(box)
	p.name(name, box)
	if least == most {
		return nil
	}
	span, err := plotter.NewLine(p.clamp(plotter.XYs{{X: x, Y: least}, {X: x, Y: most}}))
	if err != nil {
		return err
	}
	span.Width = 0.8
	p.Add(span)
	return nil
}

// mark draws diamonds.
func (p *panel) mark(name string, points plotter.XYs) error {
	marks, err := plotter.NewScatter(p.clamp(points))
	if err != nil {
		return err
	}
	marks.Color, marks.Shape, marks.Radius = color.Black, diamond{}, 3.2
	p.Add(marks)
	p.name(name, marks)
	return nil
}

// svg renders the figure. The same figure gives the same bytes.
func (f *figure) svg() ([]byte, error) {
	n := len(f.panels)
	width := vg.Length(n)*(panelWidth+panelGap) + legendWidth
	canvas := vgsvg.New(width, panelHeight)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	tiles := draw.Tiles{Rows: 1, Cols: n, PadX: panelGap, PadTop: 4, PadBottom: 4, PadLeft: 4}
	for i, c := range plot.Align([][]*plot.Plot{f.panels}, tiles, draw.Crop(all, 0, -legendWidth, 0, 0))[0] {
		f.panels[i].Draw(c)
	}
	f.legend.Draw(draw.Crop(all, width-legendWidth+8, 0, 0, -26))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	// Fonts are named, not embedded: name those of the same measures as well.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}
