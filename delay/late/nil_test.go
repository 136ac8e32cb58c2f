package late_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	niltest.Methods(t, (*late.Book)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*late.Job)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*late.Race[int])(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*late.Entry[int])(nil), resources.ErrNil, nil)
	_, err := late.New(late.Policy{}, 1, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	require.EqualError(t, err, "late: new job: book: argument is nil")
}

func TestZero_ValueIsUsableOrRejected(t *testing.T) {
	niltest.Methods(t, &late.Job{}, resources.ErrNil, nil)
	niltest.Methods(t, &late.Book{}, late.ErrSize, nil)
	niltest.Methods(t, &late.Race[int]{}, resources.ErrNil, nil) // a nil context
	niltest.Methods(t, &late.Entry[int]{}, resources.ErrNil, nil)
	niltest.Methods(t, late.Phases{}, nil, map[string]any{"Progress": nil})
}

// A book without nodes becomes one with nodes, and the default half-life.
func TestZero_BookTakesNodesByResize(t *testing.T) {
	made, err := late.NewBook(late.Config{Nodes: 2, Slots: 2})
	require.NoError(t, err)
	var zero late.Book
	job, err := late.New(late.Policy{}, 1, &zero)
	require.NoError(t, err)
	_, err = job.Start(at(0), 0)
	require.ErrorIs(t, err, late.ErrNode)
	require.NoError(t, zero.Resize(2, 2))
	for _, b := range []*late.Book{made, &zero} {
		require.NoError(t, b.Observe(at(0), 1, time.Second, time.Second))
		require.NoError(t, b.Observe(at(600), 1, 0, time.Second))
		speed, known := b.Speed(1)
		require.True(t, known)
		require.InDelta(t, 0.5/1.5, speed, 1e-9)
	}
	_, err = job.Start(at(0), 0)
	require.NoError(t, err)
}

func TestRace_RefusesNilArgumentsAndReleasesOnce(t *testing.T) {
	var none context.Context
	work := func(context.Context) (int, error) { return 1, nil }
	var race late.Race[int]
	for name, run := range map[string]func(release func()) error{
		"race: argument is nil": func(release func()) error {
			_, err := (*late.Race[int])(nil).Run(t.Context(), release, work)
			return err
		},
		"context: argument is nil": func(release func()) error {
			_, err := race.Run(none, release, work)
			return err
		},
		"work of an attempt: argument is nil": func(release func()) error {
			_, err := race.Run(t.Context(), release, nil)
			return err
		},
	} {
		released := 0
		err := run(func() { released++ })
		require.ErrorIs(t, err, resources.ErrNil)
		require.EqualError(t, err, "late: "+name)
		require.Equal(t, 1, released, name)
	}
	_, _, err := race.Enter(none, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = race.Wait(none)
	require.ErrorIs(t, err, resources.ErrNil)

	won, err := race.Run(t.Context(), nil, work) // none of the above took part
	require.NoError(t, err)
	require.True(t, won)
	got, err := race.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, got)
}

// Numbers that mean nothing are refused with the value, wherever they come in.
func TestErrors_NameValueAndPackageOnce(t *testing.T) {
	b, err := late.NewBook(late.Config{Nodes: 2, Slots: 2})
	require.NoError(t, err)
	job, err := late.New(late.Policy{}, 1, b)
	require.NoError(t, err)
	attempt, err := job.Start(at(0), 0)
	require.NoError(t, err)
	policy := func(p late.Policy) error {
		_, err := late.New(p, 1, b)
		return err
	}
	tasks := func(n int) error {
		_, err := late.New(late.Policy{}, n, b)
		return err
	}
	book := func(c late.Config) error {
		_, err := late.NewBook(c)
		return err
	}
	phases := func(p late.Phases, phase int, done float64) error {
		_, err := p.Progress(phase, done)
		return err
	}
	nan := math.NaN()
	for text, of := range map[string]struct{ err, is error }{
		"policy: rule 9":                     {policy(late.Policy{Rule: 9}), late.ErrPolicy},
		"policy: slow task percentile NaN":   {policy(late.Policy{SlowTask: nan}), late.ErrPolicy},
		"policy: slow node percentile 2":     {policy(late.Policy{SlowNode: 2}), late.ErrPolicy},
		"policy: cap -1":                     {policy(late.Policy{Cap: -1}), late.ErrPolicy},
		"policy: cap NaN":                    {policy(late.Policy{Cap: nan}), late.ErrPolicy},
		"policy: gap +Inf":                   {policy(late.Policy{Gap: math.Inf(1)}), late.ErrPolicy},
		"policy: quantile -0.5":              {policy(late.Policy{Quantile: -0.5}), late.ErrPolicy},
		"policy: minimum age -1ns":           {policy(late.Policy{MinAge: -1}), late.ErrPolicy},
		"policy: multiplier NaN":             {policy(late.Policy{Multiplier: nan}), late.ErrPolicy},
		"new job: 0 tasks":                   {tasks(0), late.ErrSize},
		"new job: -1 tasks":                  {tasks(-1), late.ErrSize},
		fmt.Sprint("new job: ", math.MaxInt): {tasks(math.MaxInt), late.ErrSize},
		"book: half-life -1ns":               {book(late.Config{Nodes: 1, Slots: 1, HalfLife: -1}), late.ErrSize},
		"book: 0 nodes with 1 slots":         {book(late.Config{Slots: 1}), late.ErrSize},
		"book: 1 nodes with -1 slots":        {book(late.Config{Nodes: 1, Slots: -1}), late.ErrSize},
		"observe node 1: work -1ns":          {b.Observe(at(0), 1, -1, 1), late.ErrSize},
		"observe: node 7":                    {b.Observe(at(0), 7, 1, 1), late.ErrNode},
		"report of attempt 0: progress NaN":  {job.Report(at(0), attempt, nan), late.ErrProgress},
		"report of attempt 0: progress 2":    {job.Report(at(0), attempt, 2), late.ErrProgress},
		"report attempt: want one that has":  {job.Report(at(0), late.Attempt{}, 1), late.ErrAttempt},
		"phase 1":                            {phases(nil, 1, 0), late.ErrProgress},
		"phase 0: NaN of it done":            {phases(nil, 0, nan), late.ErrProgress},
		"phase 0: weight -1":                 {phases(late.Phases{-1, 1}, 0, 0), late.ErrProgress},
		"phase 0: weight NaN":                {phases(late.Phases{nan}, 0, 0), late.ErrProgress},
		"phase 0: weight +Inf":               {phases(late.Phases{math.Inf(1)}, 0, 0), late.ErrProgress},
		"phase 0: weight 0":                  {phases(late.Phases{0, 0}, 0, 0), late.ErrProgress},
	} {
		require.ErrorIs(t, of.err, of.is, text)
		require.ErrorContains(t, of.err, "late: "+text)
		require.Regexp(t, "^late: [^:]+(: [^:]+)?: [^:]+$", of.err.Error())
	}
	for _, percentile := range []float64{nan, -1, 2, math.Inf(1)} {
		require.False(t, b.Slow(0, percentile), "no such percentile")
	}
}
