package simulate_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often, as the command does: a cell is small, and
// every commit makes a version of a machine.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
