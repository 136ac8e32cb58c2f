package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	for _, m := range []*offers.Master{nil, {}} {
		niltest.Methods(t, m, resources.ErrNil, nil)
		niltest.Methods(t, m, offers.ErrEmpty, nil)
	}
	for _, f := range []*offers.Framework{nil, {}} {
		niltest.Methods(t, f, resources.ErrNil, nil)
		niltest.Methods(t, f, offers.ErrEmpty, nil)
	}
	niltest.Methods(t, (*offers.Terms)(nil), nil, map[string]any{"Rest": omega.Mask{}})
	for _, b := range []*offers.TimeBox{nil, {}} {
		niltest.Methods(t, b, nil, map[string]any{"Open": nil})
	}
	niltest.Methods(t, (*offers.OfferError)(nil), nil, map[string]any{"Unwrap": nil})
	niltest.Methods(t, &offers.OfferError{}, nil, map[string]any{"Unwrap": nil, "Error": `offers: framework "": offer 0.0: refused`})
}

func TestNil_ArgumentsAreRefused(t *testing.T) {
	_, err := offers.New(nil, offers.Config{}, start)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = offers.New(new(omega.Cell), offers.Config{}, start)
	require.ErrorIs(t, err, resources.ErrNil, "a cell that omega has not made")
	_, err = offers.NewTimeBox(start, time.Second, omega.Mask{}, nil)
	require.ErrorIs(t, err, offers.ErrEmpty)
	require.NotPanics(t, func() {
		for _, l := range []*offers.Lottery{nil, {}, offers.NewLottery(nil)} {
			l.Rank(offers.Standing{})
		}
	})
}
