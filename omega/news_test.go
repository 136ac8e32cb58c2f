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
func heardBy(s *omega.Scheduler) <-chan omega.News {
	news := make(chan omega.News, 1)
	go func() {
		defer close(news)
		if n, err := s.WaitNews(context.Background()); err == nil {
			news <- n
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
		first := <-heardBy(lender)
		require.True(t, first.Has(omega.NewsDemand|omega.NewsMachines))

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
		require.Equal(t, omega.NewsDemand, <-news)
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
			"mask":     func() error { lender.Restrict(omega.Mask{1}); return nil },
			"attributes": func() error {
				return cell.SetAttributes(m, map[string]string{"zone": "a"})
			},
		}
		for name, change := range changes {
			news = heardBy(lender)
			synctest.Wait()
			require.Empty(t, news)
			require.NoError(t, change(), name)
			require.Equal(t, omega.NewsMachines, <-news, name)
		}
		news = heardBy(lender)
		synctest.Wait()
		_, err = cell.Remove(m)
		require.NoError(t, err)
		got := <-news
		if got == omega.NewsMark {
			got |= <-heardBy(lender)
		}
		require.Equal(t, omega.NewsMark|omega.NewsMachines, got)
		require.NoError(t, lender.Release(a))
	})
}

func TestWaitNews_EndsWithItsContextAndItsScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		s, err := cell.Register("s", omega.Limits{})
		require.NoError(t, err)
		_, err = s.WaitNews(t.Context())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_, err = s.WaitNews(ctx)
		require.ErrorIs(t, err, context.Canceled)
		over := make(chan error, 1)
		go func() {
			_, err := s.WaitNews(t.Context())
			over <- err
		}()
		synctest.Wait()
		next, err := cell.Replace("s")
		require.NoError(t, err)
		require.ErrorIs(t, <-over, omega.ErrSuperseded)
		first, err := next.WaitNews(t.Context())
		require.NoError(t, err)
		require.True(t, first.Has(omega.NewsDemand|omega.NewsMachines), "a successor hears of all at first")
	})
}
