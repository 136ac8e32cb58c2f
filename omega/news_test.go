package omega_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// heardBy starts a WaitNews and returns where its result will be.
func heardBy(s *omega.Scheduler) <-chan bool {
	news := make(chan bool, 1)
	go func() {
		defer close(news)
		if err := s.WaitNews(context.Background()); err == nil {
			news <- true
		}
	}()
	return news
}

func TestWaitNews_TellsOfEachEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}})
		require.NoError(t, err)
		lender, err := cell.Register("lender", omega.Limits{})
		require.NoError(t, err)
		other, err := cell.Register("other", omega.Limits{Highest: 1})
		require.NoError(t, err)
		m, _ := cell.Machine("m")
		require.True(t, <-heardBy(lender))

		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{4}})
		_, err = lender.Commit(&tx)
		require.NoError(t, err)
		a, _ := tx.Allocation(0)

		news := heardBy(lender)
		synctest.Wait()
		require.Empty(t, news, "its own claims are no news")

		require.False(t, lender.Wanted())
		ctx, stop := context.WithCancel(t.Context())
		waits := make(chan error, 1)
		go func() { waits <- other.Wait(ctx, resources.Vector{1}) }()
		require.True(t, <-news)
		require.True(t, lender.Wanted())
		require.False(t, other.Wanted(), "its own wait does not count")
		stop()
		require.Error(t, <-waits)
		require.False(t, lender.Wanted())

		changes := map[string]func() error{
			"add":      func() error { _, err := cell.Add(omega.Machine{Name: "n", Capacity: resources.Vector{1}}); return err },
			"drain":    func() error { return cell.Drain(m) },
			"resume":   func() error { return cell.Resume(m) },
			"capacity": func() error { return cell.SetCapacity(m, resources.Vector{5}) },
			"mask":     func() error { return lender.Restrict(t.Context(), omega.Mask{1}) },
			"attributes": func() error {
				return cell.SetAttributes(m, map[string]string{"zone": "a"})
			},
		}
		for name, change := range changes {
			news = heardBy(lender)
			synctest.Wait()
			require.Empty(t, news)
			require.NoError(t, change(), name)
			require.True(t, <-news, name)
		}
		news = heardBy(lender)
		synctest.Wait()
		_, err = cell.Remove(m)
		require.NoError(t, err)
		require.True(t, <-news)
		require.NoError(t, lender.Release(a))
	})
}

func TestWaitNews_EndsWithItsContextAndItsScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		s, err := cell.Register("s", omega.Limits{})
		require.NoError(t, err)
		require.NoError(t, s.WaitNews(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		stop()
		require.ErrorIs(t, s.WaitNews(ctx), context.Canceled)
		over := make(chan error, 1)
		go func() {
			over <- s.WaitNews(t.Context())
		}()
		synctest.Wait()
		next, err := cell.Replace("s")
		require.NoError(t, err)
		require.ErrorIs(t, <-over, omega.ErrSuperseded)
		require.NoError(t, next.WaitNews(t.Context()), "a successor is told at first")
	})
}
