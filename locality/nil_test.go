package locality_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Whatever is called on what there is not is an error, or nothing, and no panic.
func TestNil_MethodsOfNothing(t *testing.T) {
	for _, test := range []struct {
		of      any
		results map[string]any
	}{
		{(*locality.Attributes)(nil), nil},
		{(*locality.Constraints)(nil), nil},
		{(*locality.Ranking)(nil), nil},
		{(*locality.Spread)(nil), map[string]any{"Allows": true}},
		{(*locality.Demand[int])(nil), nil},
		{(*locality.Replicas[int])(nil), nil},
		{(*locality.Topology)(nil), map[string]any{"Any": locality.Level(1), "LevelName": "node", "Group": ^uint32(0), "Remove": locality.ErrNode}},
	} {
		of := reflect.ValueOf(test.of)
		for i := range of.NumMethod() {
			name, method := of.Type().Method(i).Name, of.Method(i)
			var in []reflect.Value
			for p := range method.Type().NumIn() {
				if !method.Type().IsVariadic() || p < method.Type().NumIn()-1 {
					in = append(in, reflect.Zero(method.Type().In(p)))
				}
			}
			require.NotPanics(t, func() {
				for _, out := range method.Call(in) {
					err, isError := out.Interface().(error)
					want, other := test.results[name]
					switch {
					case isError && other:
						require.ErrorIs(t, err, want.(error), "%T.%s", test.of, name)
					case isError:
						require.ErrorIs(t, err, resources.ErrNil, "%T.%s", test.of, name)
						require.Regexp(t, "^locality: .*: argument is nil$", err.Error(), name)
					case out.Kind() == reflect.Func: // a walk
						out.Call([]reflect.Value{reflect.MakeFunc(out.Type().In(0), func([]reflect.Value) []reflect.Value {
							require.Fail(t, "it yields", "%T.%s", test.of, name)
							return []reflect.Value{reflect.ValueOf(false)}
						})})
					case other:
						require.Equal(t, want, out.Interface(), "%T.%s", test.of, name)
					default:
						require.NotEqual(t, "error", out.Type().String(), "%T.%s", test.of, name)
						require.True(t, out.IsZero(), "%T.%s returns %v", test.of, name, out)
					}
				}
			}, "%T.%s", test.of, name)
		}
	}
}

func TestNil_Arguments(t *testing.T) {
	demand, err := locality.NewDemand[int](1)
	require.NoError(t, err)
	require.NoError(t, demand.Record(1, 5, 0, 1))
	require.NotPanics(t, func() {
		demand.Evict(nil, 1)
		demand.HotSpots(nil, 1)
	})
	s, err := locality.NewSpread(nil)
	require.NoError(t, err, "a nil topology has two levels")
	s.Add(3)
	require.Equal(t, 1, s.Count(3, 0))
	var replicas locality.Replicas[int]
	replicas.Add(1, 2)
	require.EqualValues(t, 7, replicas.Near(nil, 2, 0, locality.Input[int]{Block: 1, Bytes: 7}))
}
