package pool

import "time"

// Waiting returns the number of tenants in a backlog.
func Waiting(b *Backlog) int { return len(b.tenants) }

// Again returns the time after which to make a request again that failed.
func Again(b *Backlog, tenant string, err error, now time.Time) time.Duration {
	return b.after(tenant, err, now)
}
