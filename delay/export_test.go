package delay

// Use has another call of the queue under way, or no longer.
func Use[J comparable](q *Queue[J], busy bool) { q.use.busy.Store(busy) }

// Adopt has a job belong to a line from now on, as one that is added to a queue
// belongs to it before its first offer.
func Adopt(l *Line, j *Job) { j.join(l) }
