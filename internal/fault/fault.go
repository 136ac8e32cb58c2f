// Package fault composes the errors of this module, so that each text names its
// package once, in front.
package fault

import (
	"fmt"
	"strings"
)

// packages are the names that stand in front of the texts of this module's
// errors. A test compares them with the folders.
var packages = [...]string{
	"delay", "drf", "elastic", "etcd", "federation", "file", "flow", "journal", "journaltest", "late", "live",
	"locality", "loop", "offers", "omega", "otel", "pool", "poolhttp", "pools", "postgres", "quincy", "resources", "score",
}

// New returns an error of package pkg that wraps cause and the kinds. Its text is
// "pkg: what: text", where text is that of cause as [Bare] returns it; an empty
// what is left out.
func New(pkg, what string, cause error, kinds ...error) error {
	if what != "" {
		pkg += ": " + what
	}
	return &wrapped{text: pkg + ": " + Bare(cause), causes: append([]error{cause}, kinds...)}
}

// Newf is [New] with what in a format of package fmt. It does not wrap its
// arguments.
func Newf(pkg string, cause error, format string, args ...any) error {
	return New(pkg, fmt.Sprintf(format, args...), cause)
}

// Text returns an error of the given text that wraps causes.
func Text(text string, causes ...error) error { return &wrapped{text: text, causes: causes} }

// Bare returns the text of err without a package of this module in front.
func Bare(err error) string {
	text := err.Error()
	for _, name := range packages {
		if rest, ok := strings.CutPrefix(text, name+": "); ok {
			return rest
		}
	}
	return text
}

// wrapped is an error with a text of its own, not made of the texts of its causes.
type wrapped struct {
	text   string
	causes []error
}

func (w *wrapped) Error() string   { return w.text }
func (w *wrapped) Unwrap() []error { return w.causes }
