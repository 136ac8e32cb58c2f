package fault

import (
	"fmt"
	"reflect"
)

const (
	maxQuoted = 64  // characters of a name or key
	maxList   = 160 // characters of a list of them
)

// Quote returns a name that a caller gave as an error prints it: quoted, and of one of
// more than 64 characters the beginning.
func Quote(name string) string {
	if short := first(name, maxQuoted); len(short) < len(name) {
		return fmt.Sprintf("%q...", short)
	}
	return fmt.Sprintf("%q", name)
}

// Key returns the key of a caller's own type as an error prints it: a string as
// [Quote] does, and of another text the first 64 characters. Of a pointer or a channel
// without a String method it is the type, as the address tells a reader nothing.
func Key(key any) string {
	switch {
	case reflect.ValueOf(key).Kind() == reflect.String:
		return Quote(fmt.Sprint(key))
	case Opaque(key):
		return fmt.Sprintf("%T", key)
	}
	return shortened(fmt.Sprint(key), maxQuoted)
}

// Opaque reports whether a key has no text that tells it from others.
func Opaque(key any) bool {
	switch reflect.ValueOf(key).Kind() {
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		_, named := key.(fmt.Stringer)
		return !named
	}
	return false
}

// List returns the text of a list that a caller gave as an error prints it: at most its
// first 160 characters.
func List(text string) string { return shortened(text, maxList) }

func shortened(text string, most int) string {
	if short := first(text, most); len(short) < len(text) {
		return short + "..."
	}
	return text
}

// first returns the first characters of a text, at most so many.
func first(text string, most int) string {
	n := 0
	for at := range text {
		if n++; n > most {
			return text[:at]
		}
	}
	return text
}
