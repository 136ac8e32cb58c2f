package live_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
)

// What a framework was offered that has panicked, or failed, goes to others in the
// same moment, not when it expires.
func TestRun_DeclinesForAFailedFramework(t *testing.T) {
	boom := errors.New("boom")
	for name, fail := range map[string]func() error{
		"panics": func() error { panic(boom) },
		"fails":  func() error { return boom },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _ := newMaster(t, 1, offers.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var waited []time.Duration
				begin := time.Now()
				err := live.Run(ctx, m, live.Config{},
					live.Member{
						Registration: offers.Registration{Name: "bad"},
						Handle:       func(context.Context, *offers.Framework, offers.News) error { return fail() },
					},
					member("good", 10, func(*offers.Framework, []omega.AllocationID) {
						waited = append(waited, time.Since(begin))
						cancel()
					}),
				)
				require.ErrorIs(t, err, boom)
				require.Equal(t, []time.Duration{0}, waited)
			})
		})
	}
}
