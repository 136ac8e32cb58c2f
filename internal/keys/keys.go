// Package keys tells which values can be keys of a Go map.
package keys

import "reflect"

// Findable reports whether a map can find key again. NaN and values that hold a NaN
// differ from themselves. An interface that holds a slice, a map or a func makes the
// look-up panic. Cost: a comparison; for K that may hold an interface, a walk over
// the value.
func Findable[K comparable](key K) bool {
	switch reflect.TypeFor[K]().Kind() {
	case reflect.Interface, reflect.Struct, reflect.Array:
		k := key // so that only these escape
		if !reflect.ValueOf(&k).Elem().Comparable() {
			return false
		}
	}
	same := key
	return same == key
}
