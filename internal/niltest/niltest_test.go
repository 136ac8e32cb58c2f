package niltest_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
)

var (
	errAbsent = errors.New("niltest_test: absent")
	errOther  = errors.New("niltest_test: other")
	errBare   = errors.New("absent")
)

type good struct{ n int }

func (g *good) Refuse(string) error { return fmt.Errorf("niltest_test: good: %w", errBare) }
func (g *good) Other() error        { return errOther }
func (g *good) Fine() error         { return nil }
func (g *good) Level() int          { return 255 }
func (g *good) Pair() (int, error)  { return 0, g.Refuse("") }
func (g *good) Many(...int) bool    { return false }
func (g *good) Walk() iter.Seq[int] { return func(func(int) bool) {} }
func (g *good) Nothing()            {}

type bad struct{ n int }

func (b *bad) Deref() int          { return b.n }
func (b *bad) Level() int          { return 255 }
func (b *bad) Silent() error       { return nil }
func (b *bad) Twice() error        { return fmt.Errorf("niltest_test: bad: %w", errAbsent) }
func (b *bad) Unnamed() error      { return fmt.Errorf("bad: %w", errors.Join(errAbsent)) }
func (b *bad) Walk() iter.Seq[int] { return func(yield func(int) bool) { yield(b.n) } }
func (b *bad) Count() iter.Seq[int] {
	return func(yield func(int) bool) { yield(1) }
}

// report is a test that keeps what is reported.
type report struct{ texts []string }

func (r *report) Helper() {}
func (r *report) Errorf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
}

func TestMethods_AcceptsErrorsAndNothing(t *testing.T) {
	niltest.Methods(t, (*good)(nil), errBare, map[string]any{"Level": 255, "Other": errOther, "Fine": nil})
	niltest.Methods(t, &good{n: 1}, errBare, map[string]any{"Level": 255, "Other": errOther, "Fine": nil})
}

func TestMethods_ReportsEachFault(t *testing.T) {
	var r report
	niltest.Methods(&r, (*bad)(nil), errAbsent, map[string]any{"Missing": 1})
	require.Equal(t, []string{
		"*niltest_test.bad.Count yields 1 times",
		"*niltest_test.bad.Deref panics: runtime error: invalid memory address or nil pointer dereference",
		"*niltest_test.bad.Level returns 255",
		"*niltest_test.bad.Silent returns error <nil>, want niltest_test: absent",
		`*niltest_test.bad.Twice returns error "niltest_test: bad: niltest_test: absent", want "niltest_test: " in front, once`,
		`*niltest_test.bad.Unnamed returns error "bad: niltest_test: absent", want "niltest_test: " in front, once`,
		"*niltest_test.bad.Walk panics: runtime error: invalid memory address or nil pointer dereference",
		"*niltest_test.bad has no method Missing",
	}, r.texts)

	r = report{}
	niltest.Methods(&r, (*good)(nil), errBare, map[string]any{"Level": 254, "Other": nil, "Fine": errOther})
	require.Equal(t, []string{
		"*niltest_test.good.Fine returns error <nil>, want niltest_test: other",
		"*niltest_test.good.Level returns 255, want 254",
		"*niltest_test.good.Other fails: niltest_test: other",
	}, r.texts)
}
