package live_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/resources"
)

// A member that is offered nothing, since the cell is full, is called once all the same,
// and so can ask for its guarantee. A member that is offered something at once is not
// called once more for that.
func TestRun_CallsAFrameworkWithoutOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newMaster(t, 1, offers.Config{})
		greedy, err := m.Register(time.Now(), offers.Registration{Name: "greedy"})
		require.NoError(t, err)
		news, err := greedy.News(time.Now())
		require.NoError(t, err)
		_, err = greedy.Accept(time.Now(), offers.Launch{
			Offers: []offers.OfferID{news.Offers[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{10}}},
		})
		require.NoError(t, err)

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var got []offers.News
		err = live.Run(ctx, m, live.Config{}, live.Member{
			Registration: offers.Registration{Name: "guaranteed", Guaranteed: resources.Vector{10}},
			Handle: func(_ context.Context, f *offers.Framework, news offers.News) error {
				if got = append(got, news); len(got) > 1 {
					return f.Unregister(time.Now())
				}
				_, err := f.Request(time.Now(), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
				return err
			},
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, got, 2, "once at the start, and with the answer")
		require.Equal(t, offers.News{}, got[0])
		require.Len(t, got[1].Answers, 1)
		require.Len(t, got[1].Answers[0].Offers, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		m, _ := newMaster(t, 2, offers.Config{Timeout: offers.Never()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var got []int
		err := live.Run(ctx, m, live.Config{}, live.Member{
			Registration: offers.Registration{Name: "offered"},
			Handle: func(_ context.Context, _ *offers.Framework, news offers.News) error {
				got = append(got, len(news.Offers))
				return nil
			},
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []int{2}, got)
	})
}
