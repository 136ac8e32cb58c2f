package etcd_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
)

// BenchmarkClaims is four cells that claim on 5,000 machines, each with a copy of the cell. An
// iteration is a commit. The members of etcd are in this process: its CPU time is that of
// all. They do not sync.
func BenchmarkClaims(b *testing.B) {
	for _, members := range []int{1, 3} {
		m := cluster(b, members)
		for _, c := range []struct{ schedulers, claims int }{{1, 64}, {4, 16}} {
			b.Run(fmt.Sprintf("members=%d/schedulers=%d/claims=%d", members, 4*c.schedulers, c.claims), func(b *testing.B) {
				var copies []*omega.Cell
				for range 4 {
					store := open(b, connect(b, m.endpoints), b.Name()+strconv.Itoa(b.N))
					cell, err := journal.Open(b.Context(), store, journal.Config{First: omega.Config{Machines: journals.Machines()}})
					require.NoError(b, err)
					defer func() { require.NoError(b, cell.Close(b.Context())) }()
					copies = append(copies, cell.Cell)
				}
				journals.TurnoverOf(b, copies, c.schedulers, c.claims, nil)
			})
		}
	}
}
