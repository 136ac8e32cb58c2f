package postgres

import "time"

// Keep sets how long entries stay behind a checkpoint.
func (s *Store) Keep(d time.Duration) { s.kept = d }
