package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The pool finishes the report in a few turns. The errgroup finishes it after the
// export, or near that. Both take the same time for all.
func TestPool_FinishesTheReportBeforeTheExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, err := before(t.Context())
		require.NoError(t, err)
		now, err := after(t.Context(), nil)
		require.NoError(t, err)
		all := (export + report + slots - 1) / slots * file
		require.LessOrEqual(t, now.report, 6*file)
		require.LessOrEqual(t, now.export, all+file)
		require.Greater(t, old.report, now.report)
		require.LessOrEqual(t, old.export, all+file)
	})
}
