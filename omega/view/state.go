package view

import (
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// States of a machine in a frame, as the characters of the stream. They are printable, so
// that a frame is a line of text with one byte a machine.
const (
	none     byte = '!' // nothing is allocated
	full          = none + steps
	steps         = 80
	other         = full + 1 // an owner without a number
	unknown       = full + 2 // an owner that was not looked up yet
	draining      = none + 89
	absent        = none + 90
	lacking       = none + 91 // nothing of the kind
)

// share returns the state of a machine that has used so much of a capacity.
func share(used, capacity int64) byte {
	switch {
	case capacity <= 0 && used <= 0:
		return lacking
	case used <= 0:
		return none
	case used >= capacity:
		return full
	}
	// A machine with some use is never shown empty, and one with free room never full.
	return none + byte(min(max(float64(used)/float64(capacity)*steps+0.5, 1), steps-1))
}

// shares sets the states of a machine by kind: the first is the largest of them.
func shares(states []byte, used, capacity *resources.Vector) {
	states[0] = lacking
	for k := range states[1:] {
		s := share(used[k], capacity[k])
		if states[k+1] = s; s != lacking && (states[0] == lacking || s > states[0]) {
			states[0] = s
		}
	}
}

// gapBase is the base of gaps in a diff.
const gapBase = 46

// appendDiff appends the changes from one frame to the next, which has as many machines.
// It gives up, and returns false, where they would be longer than most bytes.
func appendDiff(to, before, now []byte, most int) ([]byte, bool) {
	start, last := len(to), 0
	for i := 0; i < len(now); i++ {
		if i%64 == 0 && i+64 <= len(now) && string(now[i:i+64]) == string(before[i:i+64]) {
			i += 63
			continue
		}
		if now[i] == before[i] {
			continue
		}
		for gap := i - last; ; gap /= gapBase {
			if gap < gapBase {
				to = append(to, '!'+byte(gap))
				break
			}
			to = append(to, '!'+gapBase+byte(gap%gapBase))
		}
		to = append(to, now[i])
		if last = i + 1; len(to)-start >= most {
			return to[:start], false
		}
	}
	return to, true
}

// grown returns s with n elements, the new ones being v.
func grown[T any](s []T, n int, v T) []T {
	s = slices.Grow(s, max(n-len(s), 0))
	for len(s) < n {
		s = append(s, v)
	}
	return s
}
