package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newMaster(t *testing.T, machines int, cfg offers.Config) (*offers.Master, *omega.Cell) {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	for i := range machines {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{10}})
		require.NoError(t, err)
	}
	m, err := offers.New(cell, cfg, time.Now())
	require.NoError(t, err)
	return m, cell
}

// member returns one that takes whatever it is offered with tasks of the need
// given, and calls started with each.
func member(name string, need int64, started func(*offers.Framework, []omega.AllocationID)) live.Member {
	return live.Member{
		Registration: offers.Registration{Name: name},
		Handle: func(_ context.Context, f *offers.Framework, news offers.News) error {
			for _, o := range news.Offers {
				tasks, err := f.Accept(time.Now(), offers.Launch{
					Offers: []offers.OfferID{o.ID},
					Tasks:  []offers.Task{{Need: resources.Vector{need}}},
				})
				if err != nil {
					return err
				}
				started(f, tasks)
			}
			return nil
		},
	}
}

// F11: a framework that panics, one that blocks for an hour, and one that wants
// more than it was offered. Another one goes on.
func TestRun_FrameworksThatMisbehave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cell := newMaster(t, 4, offers.Config{})
		boom := errors.New("boom")
		var called [3]int
		bad := func(name string, handle func(ctx context.Context, f *offers.Framework, news offers.News) error) live.Member {
			return live.Member{Registration: offers.Registration{Name: name}, Handle: handle}
		}
		var started int
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Hour, errors.New("over"))
		defer cancel()
		var mu sync.Mutex
		failed := make(map[string]int)
		begin := time.Now()
		var blocked, unblocked time.Duration
		var lost int
		err := live.Run(ctx, m, live.Config{Failed: func(name string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[name]++
			}
		}},
			bad("panics", func(context.Context, *offers.Framework, offers.News) error {
				called[0]++
				panic(boom)
			}),
			bad("blocks", func(_ context.Context, f *offers.Framework, news offers.News) error {
				called[1]++
				if len(news.Offers) == 0 || blocked > 0 {
					lost += len(news.Ended)
					return f.Suppress(time.Now())
				}
				blocked = time.Since(begin)
				time.Sleep(time.Hour)
				unblocked = time.Since(begin)
				_, err := f.Accept(time.Now(), offers.Launch{
					Offers: []offers.OfferID{news.Offers[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{1}}},
				})
				return err
			}),
			bad("wants more", func(_ context.Context, f *offers.Framework, news offers.News) error {
				called[2]++
				if len(news.Offers) == 0 {
					return nil
				}
				_, err := f.Accept(time.Now(), offers.Launch{
					Offers: []offers.OfferID{news.Offers[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{11}}},
				})
				return err
			}),
			member("good", 10, func(f *offers.Framework, tasks []omega.AllocationID) {
				started++
				time.AfterFunc(time.Minute, func() { _ = f.Release(time.Now(), tasks...) })
			}),
		)
		require.ErrorContains(t, err, "over")
		require.ErrorIs(t, err, boom)
		require.ErrorIs(t, err, offers.ErrExceeds)
		require.ErrorIs(t, err, offers.ErrExpired, "what it was offered before it blocked")
		var panicked *live.PanicError
		require.ErrorAs(t, err, &panicked)
		require.Equal(t, "panics", panicked.Framework)
		require.NotEmpty(t, panicked.Stack)
		require.EqualError(t, panicked, `live: framework "panics": panic: boom`)
		require.Greater(t, called[0], 1, "it is called again")
		require.Equal(t, called[0], failed["panics"])
		require.Equal(t, time.Hour, unblocked-blocked)
		require.Positive(t, lost)
		require.Greater(t, called[2], 1)
		require.Zero(t, failed["good"])
		require.Greater(t, started, 300, "two or more of four machines, for three hours, a minute each")
		synctest.Wait()
		require.NoError(t, cell.Check())
		time.Sleep(2 * time.Minute) // its releases fail: it is gone
		for st := range cell.Machines() {
			require.Equal(t, st.Capacity, st.Free, "nobody is left")
		}
	})
}

func TestRun_RejectsInvalidArguments(t *testing.T) {
	m, cell := newMaster(t, 1, offers.Config{})
	require.ErrorIs(t, live.Run(t.Context(), m, live.Config{Interval: -1}), live.ErrInterval)
	one := member("one", 1, func(*offers.Framework, []omega.AllocationID) {})
	require.ErrorIs(t, live.Run(t.Context(), m, live.Config{}, one, one), offers.ErrConfig)
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free, "the first one has left")
	}
}

// A framework may leave by itself, and the run ends when the master is replaced.
func TestRun_EndsWithTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cell := newMaster(t, 2, offers.Config{})
		leaver := live.Member{
			Registration: offers.Registration{Name: "leaver"},
			Handle: func(_ context.Context, f *offers.Framework, _ offers.News) error {
				return f.Unregister(time.Now())
			},
		}
		stayer := member("stayer", 1, func(*offers.Framework, []omega.AllocationID) {})
		time.AfterFunc(time.Minute, func() {
			_, err := offers.New(cell, offers.Config{}, time.Now())
			require.NoError(t, err)
		})
		err := live.Run(t.Context(), m, live.Config{}, leaver, stayer)
		require.ErrorIs(t, err, offers.ErrFenced)
	})
}

// Each error names its package once, in front, and what is wrong.
func TestRun_ErrorsNameThePackageOnce(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	m, err := offers.New(cell, offers.Config{}, time.Now())
	require.NoError(t, err)
	handle := func(context.Context, *offers.Framework, offers.News) error { return nil }
	tests := map[string]struct {
		err error
		is  error
		of  string // package
	}{
		"interval":       {live.Run(t.Context(), m, live.Config{Interval: -1}), live.ErrInterval, "live: "},
		"no handle":      {live.Run(t.Context(), m, live.Config{}, live.Member{}), live.ErrMember, "live: "},
		"name":           {live.Run(t.Context(), m, live.Config{}, live.Member{Handle: handle}), offers.ErrConfig, "offers: "},
		"nil master":     {live.Run(t.Context(), nil, live.Config{}), offers.ErrEmpty, "offers: "},
		"zero master":    {live.Run(t.Context(), new(offers.Master), live.Config{}), offers.ErrEmpty, "offers: "},
		"panic":          {&live.PanicError{Framework: "f", Value: errors.New("boom")}, nil, "live: "},
		"panic of order": {&live.PanicError{Value: "boom"}, nil, "live: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.is != nil {
				require.ErrorIs(t, test.err, test.is)
			}
			require.True(t, strings.HasPrefix(test.err.Error(), test.of), test.err.Error())
			require.NotContains(t, test.err.Error(), ": live: ")
			require.NotContains(t, test.err.Error(), ": offers: ")
		})
	}
}
