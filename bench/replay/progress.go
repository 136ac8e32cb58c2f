package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// bar draws how far a replay has come on a terminal.
type bar struct {
	w     io.Writer
	size  int64        // of the trace's file
	read  func() int64 // of these
	drawn time.Time
	wide  int
}

// newBar returns nil where w is not a terminal.
func newBar(w io.Writer, size int64, read func() int64) *bar {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &bar{w: w, size: size, read: read}
}

// draw draws it, ten times a second at most.
func (b *bar) draw(now time.Time, jobs int) {
	if now.Sub(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = now
	text := line(b.read(), b.size, jobs)
	b.wide = max(b.wide, len(text))
	fmt.Fprintf(b.w, "\r%-*s", b.wide, text)
}

// clear takes it away.
func (b *bar) clear() {
	if b.wide > 0 {
		fmt.Fprintf(b.w, "\r%s\r", strings.Repeat(" ", b.wide))
	}
}

// line returns the text of the bar. The length of a pipe is unknown: its size is 0.
func line(read, size int64, jobs int) string {
	const width = 40
	if size == 0 {
		return fmt.Sprintf("%d jobs", jobs)
	}
	done := min(1, float64(read)/float64(size))
	n := int(done * width)
	return fmt.Sprintf("[%s%s] %3.0f %%, %d jobs", strings.Repeat("#", n), strings.Repeat(".", width-n), 100*done, jobs)
}
