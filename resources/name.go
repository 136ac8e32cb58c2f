package resources

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/cellsched/cellsched/internal/fault"
)

// MaxName is the largest number of bytes of a name: see [CheckName].
const MaxName = 256

// ErrName reports a name that [CheckName] refuses.
var ErrName = errors.New("resources: invalid name")

// CheckName returns an error that wraps [ErrName] unless name is valid. Names of
// machines, attributes, schedulers, accounts, tenants, frameworks and pools follow
// one rule.
//
// A name has 1 to [MaxName] bytes of valid UTF-8. All of its characters are
// printable as [unicode.IsPrint] has it: letters, marks, numbers, punctuation,
// symbols and the ASCII space. Control characters, line breaks, NUL, other spaces
// and invisible characters are refused. Names are compared byte by byte; they are
// not normalized.
//
// The error shows at most a prefix of the name. Cost: O(len(name)), no allocation
// for a valid name.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty, want 1 to %d bytes", ErrName, MaxName)
	}
	if len(name) > MaxName {
		return fmt.Errorf("%w: %s has %d bytes, want at most %d", ErrName, fault.Quote(name), len(name), MaxName)
	}
	for at, c := range name {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(name[at:]); size == 1 {
				return fmt.Errorf("%w: %s has byte %#02x at %d, want valid UTF-8", ErrName, fault.Quote(name), name[at], at)
			}
		}
		if !unicode.IsPrint(c) {
			return fmt.Errorf("%w: %s has %U at byte %d, want printable characters", ErrName, fault.Quote(name), c, at)
		}
	}
	return nil
}
