package federation

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// job is a job that has not ended.
type job struct {
	Job
	seq     uint64 // of its submission
	user    *user
	class   *class
	tasks   []placement
	waiting []int32 // tasks that are to be matched, the next one last
	left    int     // tasks that have not ended
	lane    *lane   // nil unless tasks of it wait
}

// part reports whether the tasks that wait are a part of a gang.
func (j *job) part() bool { return j.Gang && len(j.waiting) < j.Tasks }

// home returns the site of the tasks of a gang that run or were sent. Cost: O(tasks) if a
// part waits.
func (j *job) home() (site int32, ok bool) {
	if !j.part() {
		return 0, false
	}
	for i := range j.tasks {
		if p := &j.tasks[i]; p.phase == sent || p.phase == running {
			return p.site, true
		}
	}
	return 0, false
}

// placement is the state of a task, and its place.
type placement struct {
	phase phase
	site  int32
}

type phase uint8

const (
	idle    phase = iota // of a job that waits for the lists of all local masters
	waiting              // in the queue
	sent                 // in a batch that is not answered
	running
	ended
)

// class is the part of jobs on which it depends where they fit: jobs of a class fit
// together or not at all.
type class struct {
	need    resources.Vector
	require string
	gang    int // tasks, 0 if they are placed one by one
	jobs    int // of the class that have not ended
	order   omega.Precedence
	where   []*locality.Constraints // by site, nil without constraints
}

// user has the jobs of one user that have tasks to be matched.
type user struct {
	name   string
	handle drf.User
	jobs   int
	lanes  []*lane

	seeking     *site     // that was asked to preempt for a task of the user
	sought      int       // sites that were asked in a row for a lane, and refused
	soughtLanes int       // lanes that all sites refused in a row
	soughtAt    time.Time // when the last one was asked
}

// lane is jobs of one class, the oldest first. Matching looks at the first alone: the others
// fit where it fits. Therefore a gang that waits in part has a lane of its own.
type lane struct {
	class *class
	jobs  []*job
	tried uint64 // the count of gains when the first job last found no room
}

// push brings a job back into its lane, in the order of submission.
func (u *user) push(j *job) {
	for _, l := range u.lanes {
		if l.class == j.class && !j.part() && !l.jobs[0].part() {
			at, _ := slices.BinarySearchFunc(l.jobs, j.seq, func(o *job, seq uint64) int {
				if o.seq < seq {
					return -1
				}
				return 1
			})
			l.jobs, j.lane = slices.Insert(l.jobs, at, j), l
			return
		}
	}
	j.lane = &lane{class: j.class, jobs: []*job{j}}
	u.lanes = append(u.lanes, j.lane)
}

// drop takes a job out of its lane.
func (u *user) drop(j *job) {
	l := j.lane
	j.lane = nil
	if l.jobs[0] == j {
		l.jobs[0] = nil
		l.jobs = l.jobs[1:]
	} else {
		l.jobs = slices.DeleteFunc(l.jobs, func(o *job) bool { return o == j })
	}
	l.tried = 0
	if len(l.jobs) == 0 {
		u.lanes = slices.DeleteFunc(u.lanes, func(o *lane) bool { return o == l })
	}
}

// next returns the first lane, by precedence, then by age, that was not tried since
// room was last gained. It returns nil if there is none.
func (u *user) next(gains uint64) (next *lane) {
	for _, l := range u.lanes {
		if l.tried == gains {
			continue
		}
		if next == nil || l.class.order > next.class.order || l.class.order == next.class.order && l.jobs[0].seq < next.jobs[0].seq {
			next = l
		}
	}
	return next
}

// order is the users, by turns or by dominant share.
type order struct {
	heap  *drf.Heap[string]
	users []*user // by index of the handle
	fair  bool
	total resources.Vector
}

// everything is the largest vector: each need fits in it.
var everything = func() (v resources.Vector) {
	for k := range v {
		v[k] = resources.MaxQuantity
	}
	return v
}()

// makeOrder returns an order by dominant share if there are weights, and by turns
// otherwise: in a heap without a total all shares are equal, and a user that yields is
// last of its equals.
func makeOrder(fair bool) order {
	o := order{heap: &drf.Heap[string]{}, fair: fair}
	o.heap.SetMaxSkips(-1) // no room is kept for a user: a match reads stale state
	return o
}

// user returns the user with the name. It adds the user on first use.
func (o *order) user(name string, weight float64) (*user, error) {
	if h, ok := o.heap.User(name); ok {
		return o.users[h.Index()], nil
	}
	h, err := o.heap.Add(name, weight)
	if err != nil {
		return nil, err
	}
	u := &user{name: name, handle: h}
	for len(o.users) <= h.Index() {
		o.users = append(o.users, nil)
	}
	o.users[h.Index()] = u
	return u, nil
}

// remove forgets a user without jobs.
func (o *order) remove(u *user) {
	if o.heap.Remove(u.handle) == nil {
		o.users[u.handle.Index()] = nil
	}
}

// demand keeps the heap's knowledge of a user as its queue is.
func (o *order) demand(u *user) {
	if len(u.lanes) == 0 {
		_ = o.heap.Park(u.handle)
		return
	}
	_ = o.heap.Demand(u.handle, u.lanes[0].class.need)
}

// pick returns the next user in order for which fits is true.
func (o *order) pick(fits func(*user) bool) (*user, bool) {
	h, ok := o.heap.PickWhere(everything, func(h drf.User) bool { return fits(o.users[h.Index()]) })
	if !ok {
		return nil, false
	}
	return o.users[h.Index()], true
}

// charge notes that a task of the user was matched.
func (o *order) charge(u *user, need resources.Vector) {
	_ = o.heap.Charge(u.handle, need)
	if !o.fair {
		_ = o.heap.Yield(u.handle)
	}
}

// credit notes that a task of the user ended, or was refused.
func (o *order) credit(u *user, need resources.Vector) { _ = o.heap.Credit(u.handle, need) }

// resize follows the capacity that is known of all sites.
func (o *order) resize(total resources.Vector) {
	if o.fair && total != o.total && total != (resources.Vector{}) {
		o.total = total
		_ = o.heap.SetTotal(total)
	}
}
