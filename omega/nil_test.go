package omega_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// zeroOf returns what a method is called with: nothing of each parameter.
func zeroOf(t reflect.Type) reflect.Value { return reflect.Zero(t) }

// callAll calls each method of v with nothing of each parameter, and checks that an
// error is a missing argument and that everything else is nothing.
func callAll(t *testing.T, v any, results map[string]any) {
	t.Helper()
	of := reflect.ValueOf(v)
	for i := range of.NumMethod() {
		name, method := of.Type().Method(i).Name, of.Method(i)
		var in []reflect.Value
		for p := range method.Type().NumIn() {
			if !method.Type().IsVariadic() || p < method.Type().NumIn()-1 {
				in = append(in, zeroOf(method.Type().In(p)))
			}
		}
		require.NotPanics(t, func() {
			for _, out := range method.Call(in) {
				err, isError := out.Interface().(error)
				want, other := results[name]
				switch {
				case isError:
					require.ErrorIs(t, err, resources.ErrNil, "%T.%s", v, name)
					require.Regexp(t, "^omega: [a-zA-Z]+: argument is nil$", err.Error(), name)
				case out.Kind() == reflect.Func: // a walk
					require.Zero(t, walked(out), "%T.%s", v, name)
				case other:
					require.Equal(t, want, out.Interface(), "%T.%s", v, name)
				case out.Type().String() == "error":
					require.Failf(t, "no error", "%T.%s", v, name)
				default:
					require.True(t, out.IsZero(), "%T.%s returns %v", v, name, out)
				}
			}
		}, "%T.%s", v, name)
	}
}

// walked returns how often a walk yields.
func walked(walk reflect.Value) (n int) {
	yield := reflect.MakeFunc(walk.Type().In(0), func([]reflect.Value) []reflect.Value {
		n++
		return []reflect.Value{reflect.ValueOf(true)}
	})
	walk.Call([]reflect.Value{yield})
	return n
}

// Whatever is called on what there is not is an error, or nothing, and no panic.
func TestNil_MethodsOfNothing(t *testing.T) {
	callAll(t, (*omega.Cell)(nil), map[string]any{"Cut": &omega.Cut{}})
	callAll(t, &omega.Cell{}, map[string]any{"Cut": &omega.Cut{}})
	callAll(t, (*omega.Scheduler)(nil), nil)
	callAll(t, &omega.Scheduler{}, nil)
	callAll(t, (*omega.Snapshot)(nil), map[string]any{"Explain": omega.Explanation{}})
	callAll(t, &omega.Snapshot{}, map[string]any{"Explain": omega.Explanation{}})
	callAll(t, (*omega.Txn)(nil), map[string]any{"Claim": -1, "Exchange": -1, "Release": -1, "Reserve": -1, "Resize": -1, "Unreserve": -1})
	callAll(t, (*omega.Cut)(nil), nil)
}

func TestNil_Arguments(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{2})
	s := register(t, cell, "s")
	_, restore := omega.Restore(nil, nil)
	_, commit := s.Commit(nil)
	var none context.Context
	for text, err := range map[string]error{
		"omega: reader: argument is nil":      restore,
		"omega: transaction: argument is nil": commit,
		"omega: writer: argument is nil":      cell.Save(nil),
		"omega: writer:  argument is nil":     cell.Dump(nil),
		"omega: context: argument is nil":     s.Wait(none, resources.Vector{1}),
		"omega: context:  argument is nil":    s.WaitAny(none, []resources.Vector{{1}}),
		"omega: context:   argument is nil":   s.WaitMark(none),
		"omega: ID: argument is nil":          (*omega.MachineID)(nil).UnmarshalText(nil),
		"omega: ID:  argument is nil":         (*omega.AllocationID)(nil).UnmarshalText(nil),
	} {
		require.ErrorIs(t, err, resources.ErrNil, text)
		require.EqualError(t, err, string(bytes.Join(bytes.Fields([]byte(text)), []byte(" "))))
	}
	require.Equal(t, omega.Mask{}, omega.NewMask(nil), "of no machine")
	require.Equal(t, 1, s.Snapshot().Len())
	require.NoError(t, cell.Drain(ids[0]))
	require.NoError(t, cell.Resume(ids[0]))
	require.Equal(t, 1, s.Snapshot().RefreshEach(time.Time{}, nil))
	for _, p := range []omega.Policy{nil, omega.ByScore(nil), omega.FirstFit(nil), omega.BestOf(0, nil, nil)} {
		s.Snapshot().Refresh(time.Time{})
		require.Equal(t, 2, s.Snapshot().Place(omega.Query{Need: resources.Vector{1}}, p, 3, nil))
	}
	require.NoError(t, s.Restrict(t.Context(), nil))
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1}, Grantee: nil})
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.Len(t, slices.Collect(cell.Allocations()), 1)
}
