package drf_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Each sentinel says the package and a noun when it is read alone.
func TestErrors_SentinelsNameThePackage(t *testing.T) {
	for text, err := range map[string]error{
		"drf: no such user":     drf.ErrUser,
		"drf: unusable key":     drf.ErrKey,
		"drf: invalid weight":   drf.ErrWeight,
		"drf: empty amount":     drf.ErrEmpty,
		"drf: invalid patience": drf.ErrPatience,
		"drf: usage mismatch":   drf.ErrHeld,
	} {
		require.EqualError(t, err, text)
	}
}

// An error names the package once, the user by its key, the amount that was
// refused by its kinds, and what was expected.
func TestErrors_NameTheValue(t *testing.T) {
	h, err := drf.New[string](resources.Vector{10, 10})
	require.NoError(t, err)
	u, err := h.Add("a", 1)
	require.NoError(t, err)
	gone, err := h.Add("gone", 1)
	require.NoError(t, err)
	require.NoError(t, h.Remove(gone))
	require.NoError(t, h.Charge(u, resources.Vector{0, 3}))
	add := func(key string, weight float64) error { _, err := h.Add(key, weight); return err }
	newHeap := func(total resources.Vector) error { _, err := drf.New[string](total); return err }
	of9 := resources.Vector{}
	of9[resources.MaxKinds-1] = 9

	tests := []struct {
		err   error
		cause error
		text  string
	}{
		{newHeap(resources.Vector{}), drf.ErrEmpty, "drf: total: amount 0, want some of at least one kind: empty amount"},
		{newHeap(resources.Vector{0, -1}), resources.ErrQuantity, "drf: total: invalid quantity: kind1=-1, want 0 to 2^62"},
		{add("a", 1), drf.ErrKey, `drf: add key "a": another user has it, want a new one: unusable key`},
		{add("b", -2), drf.ErrWeight, `drf: add key "b": weight -2, want 1e-06 to 1e+06: invalid weight`},
		{h.SetWeight(u, 0), drf.ErrWeight, `drf: set weight of user "a": weight 0, want 1e-06 to 1e+06: invalid weight`},
		{h.SetWeights(u, [resources.MaxKinds]float64{}), drf.ErrWeight, `drf: set weights of user "a": weight 0, want 1e-06 to 1e+06: invalid weight`},
		{h.Demand(u, resources.Vector{}), drf.ErrEmpty, `drf: demand of user "a": amount 0, want some of at least one kind: empty amount`},
		{h.Demand(u, resources.Vector{-1}), resources.ErrQuantity, `drf: demand of user "a": invalid quantity: kind0=-1, want 0 to 2^62`},
		{h.Charge(u, resources.Vector{0, 1 << 62}), resources.ErrQuantity, `drf: charge user "a" kind1=4611686018427387904 plus kind1=3 held, want at most 2^62 in all: invalid quantity`},
		{h.Charge(u, resources.Vector{-4}), resources.ErrQuantity, `drf: charge user "a": invalid quantity: kind0=-4, want 0 to 2^62`},
		{h.Credit(u, of9), drf.ErrHeld, `drf: credit user "a" kind7=9, but it holds kind1=3: usage mismatch`},
		{h.Credit(u, resources.Vector{-4}), resources.ErrQuantity, `drf: credit user "a": invalid quantity: kind0=-4, want 0 to 2^62`},
		{h.Remove(u), drf.ErrHeld, `drf: remove user "a": it still holds kind1=3, want nothing: usage mismatch`},
		{h.Park(gone), drf.ErrUser, "drf: park user: want the handle of a user of this heap or queue: no such user"},
		{h.SetMachines(resources.Vector{}), drf.ErrEmpty, "drf: machine: amount 0, want some of at least one kind: empty amount"},
	}
	for _, test := range tests {
		require.EqualError(t, test.err, test.text)
		require.ErrorIs(t, test.err, test.cause)
		require.Equal(t, 1, strings.Count(test.text, "drf: "))
	}

	numbers, err := drf.New[int](resources.Vector{1})
	require.NoError(t, err)
	seven, err := numbers.Add(7, 1)
	require.NoError(t, err)
	require.EqualError(t, numbers.Credit(seven, resources.Vector{1}), "drf: credit user 7 kind0=1, but it holds 0: usage mismatch")

	// The error does not follow a pointer: its target is the caller's own.
	pointers, err := drf.New[*struct{ secret string }](resources.Vector{1})
	require.NoError(t, err)
	first, err := pointers.Add(&struct{ secret string }{"s"}, 1)
	require.NoError(t, err)
	require.EqualError(t, pointers.SetWeight(first, 0), "drf: set weight of user 0: weight 0, want 1e-06 to 1e+06: invalid weight")
	_, err = pointers.Add(&struct{ secret string }{"s"}, 0)
	require.EqualError(t, err, "drf: add key *struct { secret string }: weight 0, want 1e-06 to 1e+06: invalid weight")
}

// A pick without a function to ask is one where every machine has room.
func TestHeap_PickWhereWithoutAFunctionIsPick(t *testing.T) {
	h, err := drf.New[string](resources.Vector{10})
	require.NoError(t, err)
	u, err := h.Add("a", 1)
	require.NoError(t, err)
	require.NoError(t, h.Demand(u, resources.Vector{2}))
	got, ok := h.PickWhere(resources.Vector{2}, nil)
	require.True(t, ok)
	require.Equal(t, u, got)
	_, ok = h.PickWhere(resources.Vector{1}, nil)
	require.False(t, ok)
}
