package delay

// Adopt has a job belong to a line from now on, as one that is added to a queue
// belongs to it before its first offer.
func (l *Line) Adopt(j *Job) { j.join(l) }
