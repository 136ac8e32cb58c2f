package omega

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// A version that is used again has nothing of what it was before, in no field, also
// where one is added.
func TestFollow_LeavesNothingOfAnEarlierUse(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{5}}}})
	require.NoError(t, err)
	old := load(cell.words.at(0))
	for _, epoch := range []uint16{2, 3} {
		var used version
		for f := range reflect.TypeFor[version]().Fields() {
			if f.Name == "op" || f.Name == "prev" || f.Name == "_" {
				continue // a version of a gang is not used again
			}
			fill(reflect.NewAt(f.Type, unsafe.Add(unsafe.Pointer(&used), f.Offset)).Elem())
		}
		used.past.Store(&past{})
		used.follow(old)
		cell.date(&used, old, epoch)
		fresh := &cell.succeed(old, epoch).V
		require.Equal(t, fresh.past.Load(), used.past.Load())
		fresh.past.Store(nil)
		used.past.Store(nil)
		require.Equal(t, fresh, &used)
	}
}

// fill makes a value other than zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem())
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.UnsafePointer:
	default:
		panic(v.Kind())
	}
}
