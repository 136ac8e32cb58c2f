package pool

import "strings"

// refusal is an error of this package: what was tried, with the figures, and the
// condition last.
type refusal struct {
	text   string
	causes []error // the condition, and the error of another package that told it
}

func refuse(cause error, text string) error { return &refusal{text, []error{cause}} }

// because is a refusal for the reason that another package's error gives.
func because(cause error, text string, why error) error {
	return &refusal{text + ": " + unprefixed(why), []error{cause, why}}
}

// Error returns the package, the text and the condition.
func (r *refusal) Error() string {
	return "pool: " + r.text + ": " + unprefixed(r.causes[0])
}

// Unwrap returns the condition and its reason.
func (r *refusal) Unwrap() []error { return r.causes }

// unprefixed returns the text of an error without the package in front.
func unprefixed(err error) string {
	text := err.Error()
	if name, rest, ok := strings.Cut(text, ": "); ok && !strings.ContainsAny(name, " \"") {
		return rest
	}
	return text
}
