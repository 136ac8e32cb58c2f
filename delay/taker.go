package delay

import "github.com/cellsched/cellsched/locality"

// taker returns the spot of the first job that takes n, or nil if there is none. Of
// that job's spots it is the nearest, and among these the one with the first task.
func (q *Queue[J]) taker(n locality.Node) *spot {
	first := q.best(noPreference)
	for _, at := range q.places.of(n) {
		s := q.best(at)
		if s == nil {
			continue
		}
		if first == nil || s.job.number < first.job.number || s.job == first.job && s.before(first) {
			first = s
		}
	}
	return first
}

// best returns the spot of the first job that takes such a place.
func (q *Queue[J]) best(at place) *spot {
	b := q.buckets[at]
	if b == nil {
		return nil
	}
	return b.best()
}

// spot sorts the tasks of e by their places, and returns the number of tasks with a
// preference.
func (q *Queue[J]) spot(e *queued, tasks [][]locality.Node) (choosy int) {
	e.spots = make([][]*spot, q.places.last+1)
	var found map[place]*spot // once a level has too many to search
	for t, nodes := range tasks {
		if len(nodes) == 0 {
			if e.free == nil {
				e.free = &spot{job: e, place: noPreference}
			}
			e.free.tasks = append(e.free.tasks, int32(t))
		} else {
			choosy++
		}
		for _, n := range nodes {
			for l, at := range q.places.of(n) {
				var s *spot
				if len(e.spots[l]) <= few {
					s = search(e.spots[l], at)
				} else {
					s = found[at]
				}
				if s == nil {
					s = &spot{job: e, place: at}
					e.spots[l] = append(e.spots[l], s)
					if len(e.spots[l]) > few {
						found = index(found, e.spots[l])
					}
				}
				if k := len(s.tasks); k == 0 || s.tasks[k-1] != int32(t) {
					s.tasks = append(s.tasks, int32(t))
				}
			}
		}
	}
	return choosy
}

// spotAgain sorts the tasks again after places are new. Tasks that are no longer
// pending are found when they come first.
func (q *Queue[J]) spotAgain(e *queued) {
	tasks := make([][]locality.Node, len(e.started))
	for _, s := range e.spots[0] {
		for _, t := range s.tasks {
			tasks[t] = append(tasks[t], locality.Node(s.place.group))
		}
	}
	e.free = nil
	q.spot(e, tasks)
	q.list(e, 0)
}

// few is the number of spots up to which a search is faster than a map.
const few = 8

// search returns the spot of a place, nil if there is none.
func search(spots []*spot, at place) *spot {
	for _, s := range spots {
		if s.place == at {
			return s
		}
	}
	return nil
}

// index enters the last spot of a level into found. On the first call it enters all
// of them.
func index(found map[place]*spot, spots []*spot) map[place]*spot {
	if found == nil {
		found = make(map[place]*spot)
	}
	if len(spots) > few+1 {
		spots = spots[len(spots)-1:]
	}
	for _, s := range spots {
		found[s.place] = s
	}
	return found
}

// list puts e into the buckets of the places that it has tasks for, from a level up
// to the farthest that it takes.
func (q *Queue[J]) list(e *queued, from locality.Level) {
	if from == 0 && e.free != nil {
		q.push(e.free)
	}
	for l := int(from); l <= int(min(e.allowed, q.places.last)); l++ {
		for _, s := range e.spots[l] {
			q.push(s)
		}
	}
}

// push puts s into the bucket of its place, unless it is there.
func (q *Queue[J]) push(s *spot) {
	if s.listed || s.first() < 0 {
		return
	}
	b := q.buckets[s.place]
	if b == nil {
		b = new(bucket)
		q.buckets[s.place] = b
	}
	b.add(s)
}

// unlist takes s out of the bucket of its place, if it is there.
func (q *Queue[J]) unlist(s *spot) {
	if s != nil && s.listed {
		q.buckets[s.place].drop(s)
	}
}
