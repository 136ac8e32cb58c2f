package locality

import (
	"cmp"
	"strconv"
)

// Value is the value of a machine's attribute: a text or a whole number. The zero
// Value is neither, and no attribute can have it. Values are plain values: compare
// them with ==.
type Value struct {
	text   string
	number int64
	kind   kind
}

type kind uint8

const (
	none kind = iota
	text
	number
)

func (k kind) String() string {
	return [...]string{"nothing", "text", "a number"}[k]
}

// Text returns the value s. Texts are equal or not, and have no order.
func Text(s string) Value { return Value{text: s, kind: text} }

// Number returns the value n, in whatever unit the attribute is in: give a
// clock speed in MHz, not in GHz.
func Number(n int64) Value { return Value{number: n, kind: number} }

// String returns a number in decimal, a text in quotes, and "" for the zero
// Value.
func (v Value) String() string {
	switch v.kind {
	case text:
		return strconv.Quote(v.text)
	case number:
		return strconv.FormatInt(v.number, 10)
	}
	return ""
}

func (v Value) compare(w Value) int {
	return cmp.Or(cmp.Compare(v.kind, w.kind), cmp.Compare(v.number, w.number), cmp.Compare(v.text, w.text))
}
