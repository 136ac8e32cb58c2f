package federation_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// decision is a task with its machine.
type decision struct {
	task federation.Task
	node locality.Node
}

// single is one scheduler of one cell with all the truth: users by turns or by dominant
// share, the jobs of a user by precedence and age, machines by number.
type single struct {
	t         *testing.T
	cell      *omega.Cell
	scheduler *omega.Scheduler
	total     resources.Vector // zero for turns
	users     []string         // in their turn
	usage     map[string]resources.Vector
	jobs      []*federation.Job // that have tasks to place, by age
	next      map[string]int    // the next task of a job
	left      map[string]int    // jobs of a user that have not ended
	undone    map[string]int    // tasks of a job
	ids       map[federation.Task]omega.AllocationID
	decisions []decision
}

func (s *single) submit(j federation.Job) {
	if s.left[j.User]++; s.left[j.User] == 1 {
		s.users = append(s.users, j.User)
	}
	s.jobs = append(s.jobs, &j)
	s.undone[j.Name] = j.Tasks
	s.place()
}

func (s *single) end(j federation.Job, t federation.Task) {
	require.NoError(s.t, s.scheduler.Release(s.ids[t]))
	s.usage[j.User], _ = s.usage[j.User].Sub(j.Need)
	if s.undone[j.Name]--; s.undone[j.Name] == 0 {
		if s.left[j.User]--; s.left[j.User] == 0 {
			s.users = slices.DeleteFunc(s.users, func(u string) bool { return u == j.User })
		}
	}
	s.place()
}

func (s *single) place() {
	for s.placeOne() {
	}
}

func (s *single) placeOne() bool {
	users := slices.Clone(s.users)
	if s.total != (resources.Vector{}) {
		share := func(u string) float64 {
			most := 0.0
			for k, v := range s.usage[u] {
				if s.total[k] > 0 {
					most = max(most, float64(v)/float64(s.total[k]))
				}
			}
			return most
		}
		slices.SortStableFunc(users, func(a, b string) int { return cmp.Compare(share(a), share(b)) })
	}
	for _, u := range users {
		jobs := slices.DeleteFunc(slices.Clone(s.jobs), func(j *federation.Job) bool { return j.User != u })
		slices.SortStableFunc(jobs, func(a, b *federation.Job) int { return cmp.Compare(b.Precedence, a.Precedence) })
		if slices.ContainsFunc(jobs, s.start) {
			return true
		}
	}
	return false
}

func (s *single) start(j *federation.Job) bool {
	snap := s.scheduler.Snapshot()
	snap.Refresh(start)
	for m := range snap.Fitting(omega.Query{Need: j.Need}) {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: j.Need})
		granted, err := s.scheduler.Commit(&tx)
		require.NoError(s.t, err)
		require.Equal(s.t, 1, granted)
		task := federation.Task{Job: j.Name, Index: s.next[j.Name]}
		s.ids[task], _ = tx.Allocation(0)
		s.decisions = append(s.decisions, decision{task, m.Node()})
		s.usage[j.User] = s.usage[j.User].Add(j.Need)
		if s.next[j.Name]++; s.next[j.Name] == j.Tasks {
			s.jobs = slices.DeleteFunc(s.jobs, func(o *federation.Job) bool { return o == j })
		}
		if s.total == (resources.Vector{}) {
			s.users = append(slices.DeleteFunc(s.users, func(u string) bool { return u == j.User }), j.User)
		}
		return true
	}
	return false
}

// A federation of one global and one local master, without delay, decides as a single
// scheduler with the whole truth does: each task in the same order on the same machine.
func TestFederation_OfOneCellDecidesAsASingleScheduler(t *testing.T) {
	for seed := range *seeds {
		for _, fair := range []bool{false, true} {
			if !t.Run(fmt.Sprintf("%d/fair=%v", seed, fair), func(t *testing.T) { alike(t, uint64(seed), fair) }) {
				return
			}
		}
	}
}

func alike(t *testing.T, seed uint64, fair bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	var machines []resources.Vector
	var total resources.Vector
	for range 1 + r.IntN(90) {
		machines = append(machines, resources.Vector{1 + r.Int64N(4), 1 + r.Int64N(4)})
		total = total.Add(machines[len(machines)-1])
	}
	w := newWorld(t, seed, network{}, 1, machines)
	if fair {
		w.weights = map[string]float64{}
	}
	w.begin()
	w.until(start.Add(time.Second)) // the global master has heard of the machines

	other := newWorld(t, seed, network{}, 1, machines).cells[0]
	s, err := other.Register("single", omega.Limits{})
	require.NoError(t, err)
	one := &single{
		t: t, cell: other, scheduler: s, usage: map[string]resources.Vector{}, next: map[string]int{},
		left: map[string]int{}, undone: map[string]int{}, ids: map[federation.Task]omega.AllocationID{},
	}
	if fair {
		one.total = total
	}
	var decisions []decision
	w.started = func(e federation.Event) { decisions = append(decisions, decision{e.Task, e.Allocation.Node()}) }

	live := map[federation.Task]federation.Job{}
	jobs := 0
	for range 60 {
		if r.IntN(2) == 0 || len(live) == 0 {
			j := federation.Job{
				Name: fmt.Sprint("job-", jobs), User: fmt.Sprint("user-", r.IntN(3)), Tasks: 1 + r.IntN(20),
				Need: resources.Vector{1 + r.Int64N(3), r.Int64N(4)}, Precedence: omega.Precedence(r.IntN(2)),
			}
			jobs++
			w.submit(w.globals[0], j)
			one.submit(j)
		} else {
			tasks := slices.Collect(func(yield func(federation.Task) bool) {
				for t := range live {
					if !yield(t) {
						return
					}
				}
			})
			slices.SortFunc(tasks, func(a, b federation.Task) int {
				return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Index, b.Index))
			})
			task := tasks[r.IntN(len(tasks))]
			w.finish(task, true)
			one.end(live[task], task)
			delete(live, task)
		}
		w.until(w.now.Add(time.Millisecond))
		require.Equal(t, one.decisions, decisions)
		for _, d := range decisions {
			if !w.ended[d.task] {
				live[d.task] = w.jobs[d.task.Job]
			}
		}
	}
	require.NotEmpty(t, decisions)
}
