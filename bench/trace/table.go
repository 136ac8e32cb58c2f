package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxLine bounds the bytes of a line.
const maxLine = 1 << 20

// table reads lines of fields with one separator and no quoting, one at a time.
type table struct {
	file   string
	r      *bufio.Reader
	sep    byte
	line   int      // number of the line that fields are of
	text   string   // that line
	fields []string // parts of text
	begin  []int    // where in text each of them begins
	header []string // names of the columns
}

func newTable(file string, r io.Reader, sep byte) *table {
	return &table{file: file, r: bufio.NewReaderSize(r, 64<<10), sep: sep}
}

// next reads a line with as many fields as the header has; false at the end.
func (t *table) next() (bool, error) {
	if ok, err := t.read(); !ok || err != nil {
		return ok, err
	}
	if len(t.fields) != len(t.header) {
		return false, t.fail(min(len(t.fields), len(t.header)), ErrColumns, "%d fields, want %d: %s", len(t.fields), len(t.header), strings.Join(t.header, " "))
	}
	return true, nil
}

// names reads the header and returns the column of each name, or -1 for those
// after the first required that are not there.
func (t *table) names(required int, names ...string) ([]int, error) {
	ok, err := t.read()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, t.ended("a header with " + strings.Join(names[:required], " "))
	}
	t.header = slices.Clone(t.fields)
	at := make([]int, len(names))
	for i, name := range names {
		at[i] = slices.Index(t.header, name)
		if at[i] < 0 && i < required {
			return nil, t.fail(len(t.fields), ErrColumns, "no column %q in %q, want %s", name, clip(t.text), strings.Join(names[:required], " "))
		}
	}
	for i, name := range t.header {
		if slices.Contains(t.header[:i], name) {
			return nil, t.fail(i, ErrColumns, "column %q twice, want it once", clip(name))
		}
	}
	return at, nil
}

// only refuses columns of other names.
func (t *table) only(names ...string) error {
	for i, name := range t.header {
		if !slices.Contains(names, name) {
			return t.fail(i, ErrColumns, "column %q, want one of %s", clip(name), strings.Join(names, " "))
		}
	}
	return nil
}

func (t *table) read() (bool, error) {
	raw, err := t.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(raw)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxLine {
			raw, err = t.r.ReadSlice('\n')
			long = append(long, raw...)
		}
		raw = long
	}
	if len(raw) == 0 && errors.Is(err, io.EOF) {
		return false, nil
	}
	t.line++
	t.fields, t.begin = t.fields[:0], t.begin[:0]
	switch {
	case len(raw) > maxLine:
		return false, t.failAt(maxLine, ErrLong, "a line of more than %d bytes", maxLine)
	case errors.Is(err, io.EOF):
		return false, t.failAt(len(raw), ErrCut, "the last line, %q, ends without a newline", clip(string(raw)))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, t.failAt(len(raw), ErrCut, "the packed file ends in the middle")
	case err != nil:
		return false, t.failAt(len(raw), err, "reading")
	}
	raw = bytes.TrimSuffix(raw[:len(raw)-1], []byte("\r"))
	if t.line == 1 {
		raw = bytes.TrimPrefix(raw, []byte("\ufeff")) // as spreadsheets write it
	}
	t.text = string(raw)
	for begin := 0; ; {
		t.begin = append(t.begin, begin)
		n := strings.IndexByte(t.text[begin:], t.sep)
		if n < 0 {
			t.fields = append(t.fields, t.text[begin:])
			return true, t.plain()
		}
		t.fields = append(t.fields, t.text[begin:begin+n])
		begin += n + 1
	}
}

// plain refuses quotes where commas are between fields: there they would say that
// a comma is in a value, which no value of ours holds. Tabs need no quoting.
func (t *table) plain() error {
	if t.sep != ',' || strings.IndexByte(t.text, '"') < 0 {
		return nil
	}
	i := slices.IndexFunc(t.fields, func(f string) bool { return strings.Contains(f, `"`) })
	return t.fail(i, ErrSyntax, "a quote in %q, want values without quotes and commas", clip(t.fields[i]))
}

// each yields the result of one for every line that next reads, up to the first
// error. There is to be one result at least: what is its name.
func each[T any](t *table, err error, next func() (bool, error), what string, yield func(T, error) bool, one func() (T, error)) {
	var zero T
	for first := true; ; first = false {
		ok := false
		if err == nil {
			ok, err = next()
		}
		var v T
		switch {
		case err != nil:
		case ok:
			v, err = one()
		case first:
			err = t.ended(what)
		}
		switch {
		case err != nil:
			yield(zero, err)
			return
		case !ok || !yield(v, nil):
			return
		}
	}
}

// column returns where field i begins, or where the line ends if there are no
// more than i.
func (t *table) column(i int) int {
	if i < len(t.begin) {
		return t.begin[i] + 1
	}
	return len(t.text) + 1
}

// mark is column, as [Columns] have it.
func (t *table) mark(i int) int32 { return int32(t.column(i)) }

// position returns where field i begins.
func (t *table) position(i int) Position { return Position{Line: t.line, Column: t.column(i)} }

// fail returns an error about field i, or the end of the line.
func (t *table) fail(i int, reason error, format string, args ...any) error {
	return t.failAt(t.column(i)-1, reason, format, args...)
}

// failAt returns an error at the byte after so many of the line.
func (t *table) failAt(bytes int, reason error, format string, args ...any) error {
	return &Error{File: t.file, Line: t.line, Column: bytes + 1, Detail: fmt.Sprintf(format, args...), Reason: reason}
}

// ended returns the error that the file ends where something is wanted.
func (t *table) ended(want string) error {
	t.line++
	return t.failAt(0, ErrCut, "the end, want %s", want)
}

// bad returns an error about the value of field i.
func (t *table) bad(i int, want string) error {
	return t.fail(i, ErrValue, "%s %q, want %s", t.header[i], clip(t.fields[i]), want)
}

// integer returns field i, which is to be a whole number from low to high.
func (t *table) integer(i int, low, high int64) (int64, error) {
	n, ok := parseInteger(t.fields[i])
	if !ok || n < low || n > high {
		return 0, t.bad(i, fmt.Sprintf("a whole number from %d to %d", low, high))
	}
	return n, nil
}

// name returns field i, which is not to be empty, for the caller to keep.
func (t *table) name(i int) (string, error) {
	if t.fields[i] == "" {
		return "", t.bad(i, "a name")
	}
	return strings.Clone(t.fields[i]), nil
}

// clip shortens the text that an error cites.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
