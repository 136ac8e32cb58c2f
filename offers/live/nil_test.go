package live_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/resources"
)

func TestRun_RefusesNilArguments(t *testing.T) {
	member := live.Member{
		Registration: offers.Registration{Name: "f"},
		Handle:       func(context.Context, *offers.Framework, offers.News) error { return nil },
	}
	var none context.Context
	for text, err := range map[string]error{
		"live: context: argument is nil":                                 live.Run(none, new(offers.Master), live.Config{}, member),
		"offers: empty argument: master is nil or zero: want one of New": live.Run(t.Context(), nil, live.Config{}, member),
	} {
		require.ErrorIs(t, err, resources.ErrNil)
		require.EqualError(t, err, text)
	}
	require.ErrorIs(t, live.Run(t.Context(), nil, live.Config{}), resources.ErrNil, "without members")
	require.ErrorIs(t, live.Run(t.Context(), new(offers.Master), live.Config{}), resources.ErrNil, "a zero master")
}

func TestNil_PanicErrorHasNothing(t *testing.T) {
	niltest.Methods(t, (*live.PanicError)(nil), nil, map[string]any{"Unwrap": nil})
	niltest.Methods(t, &live.PanicError{}, nil, map[string]any{"Unwrap": nil, "Error": "live: step: panic: <nil>"})
}
