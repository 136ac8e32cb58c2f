package federation_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
)

var errStore = errors.New("store: not reached")

// doubtful is a store that now and then cannot tell the outcome of a commit, whether or not
// it has applied it, and now and then fails without a change.
type doubtful struct {
	omega.Local
	world   *world
	tx      *omega.Txn // in doubt
	applied bool
	granted int
}

func (d *doubtful) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	require.True(d.world.t, d.tx == nil || d.tx == tx, "another commit while one is in doubt")
	if d.tx == nil && d.world.rand.Float64() < d.world.doubt/4 {
		return 0, errStore
	}
	if !d.applied && d.world.rand.Float64() < 0.5 {
		if d.granted, err = d.Local.Commit(ctx, tx); err != nil {
			d.tx = nil
			return 0, err
		}
		d.applied = true
	}
	if !d.applied || d.world.rand.Float64() < d.world.doubt {
		d.tx = tx
		return 0, fmt.Errorf("store: no answer: %w", omega.ErrOutcome)
	}
	d.tx, d.applied = nil, false
	return d.granted, nil
}
