package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The clock is that of the bubble: tasks that never run end the test after an hour of it,
// which takes no time.
func TestRun_GivesADeviceToOneTaskAtATime(t *testing.T) {
	synctest.Test(t, devices)
}

func devices(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var mu sync.Mutex
	busy, ran := map[string]string{}, map[string]int{}
	both := make(chan struct{}) // closed when both devices are busy
	err := run(ctx, nil, func(ctx context.Context, task, device string) error {
		if strings.HasPrefix(task, "reports") {
			if device != "" {
				t.Errorf("%s has device %q, want none", task, device)
			}
			return nil
		}
		mu.Lock()
		if other, taken := busy[device]; taken {
			t.Errorf("%s and %s have device %q", other, task, device)
		}
		busy[device] = task
		if ran[device]++; len(busy) == 2 && ran["0"]+ran["1"] == 2 {
			close(both)
		}
		mu.Unlock()
		select {
		case <-both:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		mu.Lock()
		defer mu.Unlock()
		delete(busy, device)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, ran, 2)
	require.Equal(t, 8, ran["0"]+ran["1"])
}
