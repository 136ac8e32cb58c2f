package offers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// start is the time at which all tests begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a time so many seconds later.
func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// newCell returns a cell of n machines alike.
func newCell(tb testing.TB, n int, capacity resources.Vector) (*omega.Cell, []omega.MachineID) {
	tb.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(tb, err)
	ids := make([]omega.MachineID, n)
	for i := range ids {
		ids[i], err = cell.Add(omega.Machine{Name: fmt.Sprintf("node-%d", i), Capacity: capacity})
		require.NoError(tb, err)
	}
	return cell, ids
}

func newMaster(tb testing.TB, cell *omega.Cell, cfg offers.Config) *offers.Master {
	tb.Helper()
	m, err := offers.New(cell, cfg, start)
	require.NoError(tb, err)
	return m
}

func register(tb testing.TB, m *offers.Master, r offers.Registration) *offers.Framework {
	tb.Helper()
	f, err := m.Register(start, r)
	require.NoError(tb, err)
	return f
}

// read returns what is new to f.
func read(tb testing.TB, f *offers.Framework, now time.Time) offers.News {
	tb.Helper()
	news, err := f.News(now)
	require.NoError(tb, err)
	return news
}

// ids returns the IDs of offers.
func ids(of []offers.Offer) []offers.OfferID {
	all := make([]offers.OfferID, len(of))
	for i, o := range of {
		all[i] = o.ID
	}
	return all
}

// launch starts one task on one offer.
func launch(o offers.OfferID, need ...int64) offers.Launch {
	var t offers.Task
	copy(t.Need[:], need)
	return offers.Launch{Offers: []offers.OfferID{o}, Tasks: []offers.Task{t}}
}

// accountOf returns the account of a name that is valid.
func accountOf(cell *omega.Cell, name string) omega.Account {
	a, err := cell.Account(context.Background(), name)
	if err != nil {
		panic(err)
	}
	return a
}
