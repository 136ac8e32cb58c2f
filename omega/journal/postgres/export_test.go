package postgres

import "time"

// Keep sets how long entries stay behind a checkpoint.
func (s *Store) Keep(d time.Duration) { s.kept = d }

// Wait sets how long a statement may take to answer.
func (s *Store) Wait(d time.Duration) { s.wait = d }
