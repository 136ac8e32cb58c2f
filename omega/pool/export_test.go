package pool

// Waiting returns the number of tenants in a backlog.
func Waiting(b *Backlog) int { return len(b.tenants) }
