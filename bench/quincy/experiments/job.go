package experiments

import (
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// job is a set of tasks that are submitted at one time.
type job struct {
	at    time.Duration // when it comes
	tasks []task
}

// task is a piece of a job.
type task struct {
	input []quincy.Block
	run   time.Duration // where all of its input is
}

// bytes returns how much a task reads.
func (t *task) bytes() (sum int64) {
	for _, b := range t.input {
		sum += b.Bytes
	}
	return sum
}

// alone returns the least time that the job takes if it has all slots and is where its
// data is.
func (j *job) alone(slots int) time.Duration {
	sum, longest := time.Duration(0), time.Duration(0)
	for i := range j.tasks {
		sum += j.tasks[i].run
		longest = max(longest, j.tasks[i].run)
	}
	return max(longest, sum/time.Duration(slots))
}

// live is a job that has come and not ended.
type live struct {
	*job

	number           int
	state            []attempt // by task
	waiting, running int
	share            int           // of the slots, at this round
	held, due        time.Duration // of slots
	since            time.Duration // due is as of then

	// Tasks that wait, by the places that they prefer; those that do not wait any more are
	// dropped when they come first.
	onNode   map[locality.Node][]int32
	inRack   map[quincy.Rack][]int32
	anywhere []int32 // those that prefer nothing
	all      []int32
}

// enter has all tasks wait.
func (l *live) enter(c *cell) {
	l.state = make([]attempt, len(l.tasks))
	l.onNode = make(map[locality.Node][]int32)
	l.inRack = make(map[quincy.Rack][]int32)
	for i := range l.state {
		l.wait(c, i)
	}
}

// wait lists a task with the machines and racks that have half of its input or
// more, of which there may be none.
func (l *live) wait(c *cell, i int) {
	l.waiting++
	l.all = append(l.all, int32(i))
	t := &l.tasks[i]
	total := t.bytes()
	if total == 0 {
		l.anywhere = append(l.anywhere, int32(i))
		return
	}
	for _, b := range t.input {
		for _, n := range b.Nodes {
			rack, core := c.far(t.input, n)
			if 2*(rack+core) <= total {
				l.onNode[n] = listed(l.onNode[n], i)
			}
			if 2*core <= total {
				l.inRack[c.rack[n]] = listed(l.inRack[c.rack[n]], i)
			}
		}
	}
}

// listed appends i, unless it is there just now.
func listed(list []int32, i int) []int32 {
	if k := len(list); k > 0 && list[k-1] == int32(i) {
		return list
	}
	return append(list, int32(i))
}

// first returns the first task of a list that waits, and the rest of the list.
func (l *live) first(list []int32) (task int, rest []int32, ok bool) {
	for len(list) > 0 {
		if i := list[0]; l.state[i].phase == waits {
			return int(i), list, true
		}
		list = list[1:]
	}
	return 0, list, false
}

// nearest returns the waiting task that is nearest to n, and how near. One that
// prefers nothing is near everywhere.
func (l *live) nearest(c *cell, n locality.Node) (task int, level locality.Level, ok bool) {
	if list := l.onNode[n]; len(list) > 0 {
		if task, l.onNode[n], ok = l.first(list); ok {
			return task, onNode, true
		}
	}
	if task, l.anywhere, ok = l.first(l.anywhere); ok {
		return task, onNode, true
	}
	if list := l.inRack[c.rack[n]]; len(list) > 0 {
		if task, l.inRack[c.rack[n]], ok = l.first(list); ok {
			return task, inRack, true
		}
	}
	task, l.all, ok = l.first(l.all)
	return task, beyond, ok
}
