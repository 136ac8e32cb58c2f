package loop

// Kept returns how many allocations the loop knows the jobs of.
func Kept[K any](l *Loop[K]) int { return l.ledger.len() }
