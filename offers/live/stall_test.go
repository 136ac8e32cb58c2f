package live_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Run ends with its context while a Step waits for the journal of the cell.
func TestRun_EndsWhileTheJournalIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		j := new(journals.Stalling)
		require.NoError(t, cell.SetJournal(j))
		m, err := offers.New(cell, offers.Config{}, time.Now())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			ended <- live.Run(ctx, m, live.Config{}, live.Member{
				Registration: offers.Registration{Name: "f"},
				Handle: func(ctx context.Context, f *offers.Framework, news offers.News) error {
					for _, o := range news.Offers {
						if err := f.Decline(time.Now(), offers.For(0), o.ID); err != nil {
							return err
						}
						j.Stall(true)
					}
					return nil
				},
			})
		}()
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		_, due := m.Next()
		require.False(t, due, "a Step waits")
		cancel()
		synctest.Wait()
		require.Len(t, ended, 1)
		require.ErrorIs(t, <-ended, context.Canceled)
		j.Stall(false)
	})
}
