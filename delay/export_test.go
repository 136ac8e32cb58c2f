package delay

// Use marks another call of the queue as under way, or no longer.
func Use[J comparable](q *Queue[J], busy bool) { q.use.busy.Store(busy) }

// Adopt makes a job one of a line from now on, as a job of a queue is before its
// first offer.
func Adopt(l *Line, j *Job) { j.join(l) }
