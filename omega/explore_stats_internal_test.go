//go:build explore

package omega

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/explore"
)

// A reader of the counts sees numbers between those at its begin and its end, in every
// schedule, also while they are carried over. A commit that has lost a race for a machine
// counts a retry.
func TestExplore_CountsAreReadWhileACommitIsInProgress(t *testing.T) {
	for name, word := range map[string]uint64{
		"from nothing": 0,
		"carried over": (1<<29-1)*oneCommit + (1<<31-1)*oneGrant,
	} {
		t.Run(name, func(t *testing.T) {
			retries := uint64(0)
			exploreAll(t, 2, func(r *explore.Run) {
				st := newStage(r, 3)
				a, b := st.register("a"), st.register("b")
				var seen []counted
				a.word.Store(word)
				was := a.counts.read()
				r.Go("a", func() {
					st.ask(a, claimOf(0))
					st.ask(a, claimOf(0))
				})
				r.Go("b", func() { st.ask(b, claimOf(0)) })
				r.Go("reader", func() {
					for range 2 {
						seen = append(seen, a.counts.read())
					}
				})
				r.Check(func() error {
					before := was
					for _, now := range append(seen, a.counts.read()) {
						if now.commits < before.commits || now.commits > was.commits+2 || now.grants != was.grants+now.commits-was.commits {
							return fmt.Errorf("%+v after %+v", now, before)
						}
						before = now
					}
					if before.commits != was.commits+2 {
						return fmt.Errorf("%+v at the end, %+v before two commits", before, was)
					}
					retries = max(retries, before.retries)
					return nil
				})
			})
			require.NotZero(t, retries)
		})
	}
}
