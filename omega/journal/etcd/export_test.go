package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// See makes the store one that has seen a revision.
func (s *Store) See(revision int64) { s.seen.Store(revision) }

// Lose makes the store one that has added an entry at a position, which is not there.
func (s *Store) Lose(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added = mark{at, "lost"}
}

// Trim deletes the entries before a position while a comparison holds.
func (s *Store) Trim(ctx context.Context, before int64, while clientv3.Cmp) {
	s.trim(ctx, before, while)
}
