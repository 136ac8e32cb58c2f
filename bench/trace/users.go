package trace

import (
	"fmt"
	"io"
	"iter"
	"strings"
)

// The least and the largest weight that a user may have, which are those of
// package drf.
const (
	minWeight = 1e-6
	maxWeight = 1e6
)

// Users reads a table of users, with columns user and weight, and returns the
// weight of each: a decimal number from 0.000001 to 1000000.
func Users(file string, r io.Reader) (map[string]float64, error) {
	t := newTable(file, r, ',')
	at, err := t.names(2, "user", "weight")
	if err == nil {
		err = t.only("user", "weight")
	}
	if err != nil {
		return nil, err
	}
	weights := map[string]float64{}
	for {
		ok, err := t.next()
		if err != nil {
			return nil, err
		}
		if !ok && len(weights) == 0 {
			return nil, t.ended("a user")
		}
		if !ok {
			return weights, nil
		}
		user, err := t.name(at[0])
		if err != nil {
			return nil, err
		}
		if _, ok := weights[user]; ok {
			return nil, t.bad(at[0], "each user once")
		}
		w, ok := parseDecimal(t.fields[at[1]])
		if !ok || w < minWeight || w > maxWeight {
			return nil, t.bad(at[1], "a decimal number from 0.000001 to 1000000")
		}
		weights[user] = w
	}
}

// Known passes jobs on until there is one of a user that is not in the table:
// that is an [ErrUser] where file names the user.
func Known(file string, jobs iter.Seq2[Job, error], users map[string]float64) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for j, err := range jobs {
			if _, ok := users[j.User]; err == nil && !ok {
				yield(Job{}, &Error{File: file, Line: j.UserAt.Line, Column: j.UserAt.Column, Reason: ErrUser, Detail: fmt.Sprintf(
					"job %q of user %q, want one of the %d in the table of users", clip(j.ID), clip(strings.Clone(j.User)), len(users))})
				return
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}
