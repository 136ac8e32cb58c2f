package etcd

// See makes the store one that has seen a revision.
func (s *Store) See(revision int64) { s.seen.Store(revision) }
