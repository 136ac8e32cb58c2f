package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain is the child process as well: launch starts the binary of the test.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-child" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The child sees the device of its lease, and no other that this process sees. It counts the
// devices as nvidia-smi does.
func TestLaunch_ShowsOneDeviceToTheChild(t *testing.T) {
	t.Setenv(visible, "0,1")
	t.Setenv(order, "FASTEST_FIRST")
	for device, want := range map[string]string{
		"1": "training 7   sees device \"1\"\n",
		"":  "training 7   sees device \"\"\n",
	} {
		var out strings.Builder
		require.NoError(t, launch(t.Context(), &out, "training 7", device))
		require.Equal(t, want, out.String())
	}
}

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
