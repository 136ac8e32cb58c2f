package delay

import "container/heap"

// spot is the set of a job's pending tasks for a place: those that would be at the
// place's level there, or nearer.
type spot struct {
	job    *queued
	place  place
	tasks  []int32 // in order; started tasks at the front are dropped
	listed bool    // it is in the bucket of the place
	index  int     // its place there, if listed
}

// first returns the first task that is still pending, -1 if there is none. It
// costs O(1) amortised: each task is dropped once.
func (s *spot) first() int {
	for len(s.tasks) > 0 {
		if t := s.tasks[0]; !s.job.started[t] {
			return int(t)
		}
		s.tasks = s.tasks[1:]
	}
	return -1
}

// before reports whether s has the preferred task, of two spots of a job.
func (s *spot) before(other *spot) bool {
	return s.place.level == other.place.level && s.first() < other.first()
}

// usable reports whether the job has a pending task for the place and takes such a
// place.
func (s *spot) usable() bool {
	return s.place.level <= s.job.allowed && s.first() >= 0
}

// bucket is a heap of the jobs that have tasks for a place, by order in the queue.
// A job is in it from when it first takes the place. It may be of no use later:
// that is found when it comes first, or the job leaves.
type bucket []*spot

// best returns the usable spot of the first job, nil if there is none. It drops
// unusable ones.
func (b *bucket) best() *spot {
	for len(*b) > 0 {
		s := (*b)[0]
		if s.usable() {
			return s
		}
		b.drop(s)
	}
	return nil
}

// add puts s in.
func (b *bucket) add(s *spot) {
	s.listed = true
	heap.Push(b, s)
}

// drop takes s out, which is in it.
func (b *bucket) drop(s *spot) {
	heap.Remove(b, s.index)
	s.listed = false
}

func (b bucket) Len() int           { return len(b) }
func (b bucket) Less(i, k int) bool { return b[i].job.number < b[k].job.number }

func (b bucket) Swap(i, k int) {
	b[i], b[k] = b[k], b[i]
	b[i].index, b[k].index = i, k
}

func (b *bucket) Push(x any) {
	s := x.(*spot)
	s.index = len(*b)
	*b = append(*b, s)
}

func (b *bucket) Pop() any {
	last := len(*b) - 1
	s := (*b)[last]
	(*b)[last] = nil
	*b = (*b)[:last]
	return s
}
