package keys

import (
	"fmt"
	"reflect"
	"strings"
)

// maxText is the largest number of bytes of a text.
const maxText = 256

// Text returns a key as text of 256 bytes at most. Where the key holds a pointer and has no
// String method, the text is the name of its type: the memory that it points to may be
// written meanwhile.
func Text(key any) string {
	_, has := key.(fmt.Stringer)
	if key != nil && !has && !plain(reflect.TypeOf(key)) {
		return cut(fmt.Sprintf("%T", key))
	}
	return cut(fmt.Sprint(key))
}

// plain reports whether values of a type are copied whole.
func plain(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if !plain(field.Type) {
				return false
			}
		}
		return true
	default:
		return k <= reflect.Complex128 || k == reflect.String
	}
}

// cut returns the beginning of a text, without part of a letter at its end.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}
