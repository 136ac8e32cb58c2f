package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain is the runner where the test starts one.
func TestMain(m *testing.M) {
	if os.Getenv("DURABLE_JOURNAL") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each task is started once, although the first runner is killed. The second one attaches to
// the tasks that still run.
func TestKilled_StartsEachTaskOnce(t *testing.T) {
	var out strings.Builder
	require.NoError(t, killed(t.Context(), &out))
	require.Equal(t, `started index-1
started index-2
started index-3
kill -9
attached to index-1
attached to index-2
attached to index-3
started report-1
started report-2
started report-3
done: index-1 index-2 index-3 report-1 report-2 report-3
`, out.String())
}
