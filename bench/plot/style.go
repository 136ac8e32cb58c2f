package main

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// style tells a line from others, without its colour as well.
type style struct {
	color  color.Color
	dashes []vg.Length
	shape  draw.GlyphDrawer
}

// styleOf returns the style of a number, from 0; they repeat. The colours are
// those of Okabe and Ito, which most people can tell apart.
func styleOf(n int) style {
	styles := [...]style{
		{color.RGBA{0x00, 0x72, 0xb2, 0xff}, nil, draw.CircleGlyph{}},
		{color.RGBA{0xd5, 0x5e, 0x00, 0xff}, []vg.Length{6, 2}, draw.SquareGlyph{}},
		{color.RGBA{0x00, 0x9e, 0x73, 0xff}, []vg.Length{2, 2}, draw.TriangleGlyph{}},
		{color.RGBA{0xcc, 0x79, 0xa7, 0xff}, []vg.Length{6, 2, 2, 2}, draw.PyramidGlyph{}},
		{color.RGBA{0xe6, 0x9f, 0x00, 0xff}, []vg.Length{4, 4}, draw.RingGlyph{}},
		{color.RGBA{0x56, 0xb4, 0xe9, 0xff}, []vg.Length{1, 2}, draw.BoxGlyph{}},
		{color.Black, []vg.Length{8, 2, 2, 2, 2, 2}, draw.PlusGlyph{}},
		{color.RGBA{0x99, 0x8a, 0x00, 0xff}, []vg.Length{1, 4}, draw.CrossGlyph{}},
	}
	return styles[n%len(styles)]
}

// diamond is a mark that none of the lines has.
type diamond struct{}

// DrawGlyph draws it: white, so that it can be seen on any bar.
func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	p.Move(vg.Point{X: at.X, Y: at.Y + s.Radius})
	p.Line(vg.Point{X: at.X + s.Radius, Y: at.Y})
	p.Line(vg.Point{X: at.X, Y: at.Y - s.Radius})
	p.Line(vg.Point{X: at.X - s.Radius, Y: at.Y})
	p.Close()
	c.SetColor(color.White)
	c.Fill(p)
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 0.8})
	c.Stroke(p)
}
