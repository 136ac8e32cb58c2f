package postgres

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/omega/journal"
)

// Keep sets how long entries stay behind a checkpoint.
func (s *Store) Keep(d time.Duration) { s.kept = d }

// Wait sets how long a statement may take to answer.
func (s *Store) Wait(d time.Duration) { s.wait = d }

// Trim deletes what a checkpoint at a position has made dispensable.
func (s *Store) Trim(ctx context.Context, at journal.Position) { s.trim(ctx, at) }
