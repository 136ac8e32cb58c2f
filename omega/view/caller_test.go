package view_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// A source that waits holds up no frame, no answer and no other source, and is not asked
// again meanwhile.
func TestSource_ThatWaitsHoldsNothingUp(t *testing.T) {
	cell, s := newCell(t, 3)
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Bool
		var calls atomic.Int64
		var quick atomic.Uint64
		wake := make(chan struct{})
		cfg := view.Config{Cell: cell, Sources: map[string]func() observe.Counts{
			"flow": func() observe.Counts {
				n := calls.Add(1)
				if stuck.Load() {
					<-wake
					return observe.Counts{Commits: 9, Claims: 9}
				}
				return observe.Counts{Commits: uint64(n), Claims: 9}
			},
			"loop": func() observe.Counts { return observe.Counts{Commits: quick.Add(1), Claims: 8} },
		}}
		h := view.Handler(cfg)
		require.Equal(t, "flow", enginesOf(t, h)[0].Name)
		pass(2 * time.Second)
		stuck.Store(true)
		asked, other := calls.Load(), quick.Load()
		w, stop := watch(h, "")
		pass(10 * time.Second)
		claim(t, s, "m00001", resources.Vector{8000, 0}, "")
		pass(time.Second)
		w.read(t)
		require.Equal(t, "!q!", string(w.states), "frames go on")
		require.Equal(t, 200, ask(h, "/machine?n=1").Code)
		require.Equal(t, asked+1, calls.Load(), "one call at a time")
		require.Greater(t, quick.Load(), other+5, "the other source is asked on")
		require.EqualValues(t, asked, enginesOf(t, h)[0].Commits, "the last answer is shown")
		stop()
		close(wake)
		synctest.Wait()
		pass(time.Second)
		require.EqualValues(t, 9, enginesOf(t, h)[0].Commits)
	})
}

// A panic of a callback is one of the request, not of the program.
func TestSource_ThatPanicsFailsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := view.Handler(view.Config{Sources: map[string]func() observe.Counts{
			"broken": func() observe.Counts { panic(errors.New("nothing to count")) },
		}})
		defer func() {
			err, ok := recover().(error)
			require.True(t, ok)
			require.ErrorContains(t, err, "nothing to count")
		}()
		ask(h, "/?format=json")
	})
}
