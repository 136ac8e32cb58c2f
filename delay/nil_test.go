package delay_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	anything := map[string]any{"Allowed": locality.Level(math.MaxUint8)} // as the zero Job
	niltest.Methods(t, (*delay.Job)(nil), resources.ErrNil, anything)
	niltest.Methods(t, (*delay.Learner)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*delay.Line)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*delay.Queue[int])(nil), resources.ErrNil, nil)
}

func TestZero_ValueIsUsableOrRejected(t *testing.T) {
	niltest.Methods(t, &delay.Job{}, resources.ErrNil, map[string]any{
		"Allowed": locality.Level(math.MaxUint8), "Offer": delay.Decision{Launch: true}, "Pause": nil,
	})
	niltest.Methods(t, &delay.Learner{}, resources.ErrNil, map[string]any{"Ran": nil})
	niltest.Methods(t, &delay.Line{}, resources.ErrNil, nil) // a nil order
	niltest.Methods(t, &delay.Queue[int]{}, delay.ErrJob, nil)

	job, err := delay.New(delay.Policy{})
	require.NoError(t, err)
	got, err := new(delay.Line).Offer(at(0), func(yield func(*delay.Job, locality.Level) bool) { yield(&job, 3) })
	require.NoError(t, err)
	require.Same(t, &job, got)
}

func TestNil_JobInTheOrderIsRefused(t *testing.T) {
	_, err := new(delay.Line).Offer(at(0), func(yield func(*delay.Job, locality.Level) bool) { yield(nil, 0) })
	require.ErrorIs(t, err, resources.ErrNil)
	require.ErrorContains(t, err, "a nil job in the order, want jobs: argument is nil")
}

// Each refusal has a sentinel, the package once in front, and the value.
func TestErrors_NameValueAndPackageOnce(t *testing.T) {
	policy := func(p delay.Policy) error {
		_, err := delay.New(p)
		return err
	}
	queue := func(p delay.Policy) error {
		_, err := delay.NewQueue[int](p, nil)
		return err
	}
	suggest := func(l delay.Load, local float64) error {
		_, _, err := l.Suggest(local)
		return err
	}
	load := delay.Load{Tasks: 1, Nodes: 1, Replicas: 1, Slots: 1, Task: 1}
	late, err := delay.New(delay.Policy{Waits: delay.Waits{time.Second}})
	require.NoError(t, err)
	_, err = late.Offer(at(5), 1)
	require.NoError(t, err)
	_, back := late.Offer(at(4), 1)
	q, err := delay.NewQueue[int](delay.Policy{}, nil)
	require.NoError(t, err)
	_, _, err = q.Offer(at(5), 0)
	require.NoError(t, err)
	_, _, queued := q.Offer(at(4), 0)
	learner := &delay.Learner{}
	for text, of := range map[string]struct{ err, is error }{
		"delay: policy: skips = -1, want 0 or more":                           {policy(delay.Policy{Skips: -1}), delay.ErrPolicy},
		"delay: policy: wait at level 1 = -1ns, want 0 or more":               {policy(delay.Policy{Waits: delay.Waits{0, -1}}), delay.ErrPolicy},
		"delay: policy: waits up to level 1 = 2562047h47m16.854775807s + 1ns": {policy(delay.Policy{Waits: delay.Waits{math.MaxInt64, 1}}), delay.ErrPolicy},
		"delay: policy: skips = 1 and waits of 1ns":                           {policy(delay.Policy{Skips: 1, Waits: delay.Waits{1}}), delay.ErrPolicy},
		"delay: policy: skips = 1 and a learner":                              {policy(delay.Policy{Skips: 1, Learn: learner}), delay.ErrPolicy},
		"delay: policy: the paper's rule and a learner":                       {policy(delay.Policy{Paper: true, Learn: learner}), delay.ErrPolicy},
		"delay: queue: waits of 2562047h47m16.854775807s":                     {queue(delay.Policy{Waits: delay.Waits{math.MaxInt64}}), delay.ErrPolicy},
		"delay: queue: skips = 9223372036854775807":                           {queue(delay.Policy{Skips: math.MaxInt}), delay.ErrPolicy},
		"delay: queue: skips":                                                 {queue(delay.Policy{Skips: math.MaxInt}), delay.ErrPolicy},
		"delay: suggest: local share = NaN":                                   {suggest(load, math.NaN()), resources.ErrQuantity},
		"delay: suggest: local share = 1":                                     {suggest(load, 1), resources.ErrQuantity},
		"delay: suggest: tasks = 0":                                           {suggest(delay.Load{}, 0.5), resources.ErrQuantity},
		"delay: learn: run time at level 3 = -1ns":                            {learner.Ran(3, -1), resources.ErrQuantity},
		"delay: offer at":                                                     {back, delay.ErrTime},
		"delay: offer of node 0 at":                                           {queued, delay.ErrTime},
		"delay: add job 1: it has no tasks":                                   {q.Add(1), delay.ErrJob},
		"delay: remove job 1: it is not in the queue":                         {q.Remove(1), delay.ErrJob},
	} {
		if strings.Contains(text, "queue: skips") && math.MaxInt == math.MaxInt32 {
			continue // each int is a count that the queue can keep
		}
		require.ErrorIs(t, of.err, of.is, text)
		require.Regexp(t, "^delay: [^:]", of.err.Error())
		require.ErrorContains(t, of.err, text)
		require.NotContains(t, of.err.Error()[len("delay: "):], "delay: ")
		require.NotContains(t, of.err.Error(), "resources: ")
	}
}

func TestQueue_RefusesKeysThatItCannotFindAgain(t *testing.T) {
	floats, err := delay.NewQueue[float64](delay.Policy{}, nil)
	require.NoError(t, err)
	require.ErrorIs(t, floats.Add(math.NaN(), nil), delay.ErrJob)
	require.Zero(t, floats.Len())
	require.NoError(t, floats.Add(math.Inf(1), nil))

	type pair struct {
		name string
		more any
	}
	for _, key := range []any{[]int{1}, map[int]int{}, func() {}, pair{"a", []int{1}}, [1]any{func() {}}, math.NaN()} {
		q, err := delay.NewQueue[any](delay.Policy{}, nil)
		require.NoError(t, err)
		require.NotPanics(t, func() {
			require.ErrorIs(t, q.Add(key, nil), delay.ErrJob, "%T", key)
			require.ErrorIs(t, q.Remove(key), delay.ErrJob, "%T", key)
			require.ErrorIs(t, q.Update(key, func(j *delay.Job) { j.SetStarved(true) }), delay.ErrJob, "%T", key)
			_, err = q.Job(key)
			require.ErrorIs(t, err, delay.ErrJob, "%T", key)
		})
		require.Zero(t, q.Len())
	}
	q, err := delay.NewQueue[any](delay.Policy{}, nil)
	require.NoError(t, err)
	require.NoError(t, q.Add(pair{"a", 1}, nil))
	require.NoError(t, q.Remove(pair{"a", 1}))
	require.NoError(t, q.Add(nil, nil), "a nil interface is a key")
	require.NoError(t, q.Remove(nil))
}
