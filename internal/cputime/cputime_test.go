package cputime_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
)

func TestTimes_GrowWithWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not every system tells both")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process, thread := cputime.Used(), cputime.OfThread()
	sum := 0
	for cputime.OfThread() == thread || cputime.Used() == process {
		for i := range 1_000_000 {
			sum += i
		}
	}
	runtime.KeepAlive(sum)
	require.Greater(t, cputime.Used(), process)
	require.Greater(t, cputime.OfThread(), thread)
}
