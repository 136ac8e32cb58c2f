package omega

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// A version that is used again has nothing of what it was before, in no field, also
// where one is added.
func TestFollow_LeavesNothingOfAnEarlierUse(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{
		{Name: "narrow", Capacity: resources.Vector{5}},
		{Name: "wide", Capacity: resources.Vector{7: 5}},
	}})
	require.NoError(t, err)
	for i := range uint32(4) {
		epoch, old := uint16(2+i/2), load(cell.words.at(i%2))
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
		fresh := &cell.nextVersion(old, epoch).V
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

// The room and the live slots of a version are its own: what becomes of a version that
// follows it, in memory that was used before, changes neither.
func TestVersion_HasRoomAndSlotsOfItsOwn(t *testing.T) {
	type state struct {
		free resources.Vector
		live []uint32
	}
	of := func(v *version) state { return state{v.free(), slices.Sorted(v.live.all())} }
	rapid.Check(t, func(t *rapid.T) {
		amounts := func(most *resources.Vector) (v resources.Vector) {
			for k := range v {
				if rapid.Bool().Draw(t, "some") {
					v[k] = rapid.Int64Range(0, most[k]).Draw(t, "amount")
				}
			}
			return v
		}
		now, before, spare := &version{}, &version{}, &version{}
		var free, used resources.Vector
		live := map[uint32]bool{}
		was := of(before)
		t.Repeat(map[string]func(*rapid.T){
			"capacity": func(*rapid.T) {
				ten := resources.Uniform(10)
				free = amounts(&ten)
				used = resources.Vector{}
				now.setFree(&free)
			},
			"take": func(*rapid.T) {
				need := amounts(&free)
				require.True(t, now.fits(&need))
				now.subRoom(&need)
				free, _ = free.Sub(need)
				used = used.Add(need)
			},
			"give": func(*rapid.T) {
				need := amounts(&used)
				now.addRoom(&need)
				free = free.Add(need)
				used, _ = used.Sub(need)
			},
			"refuse": func(t *rapid.T) {
				need := free
				k := rapid.IntRange(0, resources.MaxKinds-1).Draw(t, "kind")
				need[k] = rapid.SampledFrom([]int64{free[k] + 1, -1}).Draw(t, "too much")
				require.False(t, now.fits(&need))
			},
			"toggle": func(t *rapid.T) {
				slot := rapid.SampledFrom([]uint32{0, 63, 64, firstLive - 1, firstLive, firstLive + 7, 5000}).Draw(t, "slot")
				now.live.toggle(slot)
				if live[slot] = !live[slot]; !live[slot] {
					delete(live, slot)
				}
			},
			"follow": func(*rapid.T) {
				spare.follow(now)
				before, now, spare = now, spare, before
				was = of(before)
			},
			"": func(t *rapid.T) {
				require.Equal(t, free, now.free())
				require.Len(t, of(now).live, len(live))
				for slot := range live {
					require.True(t, now.live.has(slot))
				}
				require.Equal(t, was, of(before))
			},
		})
	})
}
