package delay_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

var wholeMatrix = flag.Bool("matrix", false, "try each cell and load of the matrix of makespans; -v prints the worst")

// load is a cell and its jobs. All tasks take as long, wherever they run. Free
// slots are offered every second.
type load struct {
	jobs, tasks int // tasks of all jobs together
	slots, each int // each is the slots of a node
	task        time.Duration
	wait        time.Duration // for the node, and for the rack if there are any
	data        int           // nodes that have the data
	racks       bool
	order       string // of offers: near, far, random or round
	by          string // of jobs: queue, line or job
}

func (l load) String() string {
	return fmt.Sprintf("%s: %d jobs, %d tasks of %v, %d slots of %d, wait %v, data on %d, racks %v, %s first",
		l.by, l.jobs, l.tasks, l.task, l.slots, l.each, l.wait, l.data, l.racks, l.order)
}

// offerer returns a scheduler of the jobs, which takes a slot of a node or not.
func (l load) offerer(t testing.TB, p delay.Policy) (offer func(now time.Time, n locality.Node) bool) {
	t.Helper()
	nodes := l.slots / l.each
	var topology *locality.Topology
	if l.racks {
		racks := make([]string, nodes)
		for i := range racks {
			racks[i] = fmt.Sprint("rack ", i/5)
		}
		var err error
		topology, err = locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: racks})
		require.NoError(t, err)
	}
	holders := make([]locality.Node, l.data)
	for i := range holders {
		holders[i] = locality.Node(i)
	}
	if l.by == "queue" {
		q, err := delay.NewQueue[int](p, topology)
		require.NoError(t, err)
		for i := range l.jobs {
			require.NoError(t, q.Add(i, slices.Repeat([][]locality.Node{holders}, l.tasks/l.jobs)...))
		}
		return func(now time.Time, n locality.Node) bool {
			_, ok, err := q.Offer(now, n)
			require.NoError(t, err)
			return ok
		}
	}
	level := make([]locality.Level, nodes)
	for n := range level {
		level[n] = topology.Level(locality.Node(n), holders...)
	}
	jobs, left := make([]*delay.Job, l.jobs), make([]int, l.jobs)
	for i := range jobs {
		job, err := delay.New(p)
		require.NoError(t, err)
		jobs[i], left[i] = &job, l.tasks/l.jobs
	}
	if l.by == "job" {
		return func(now time.Time, n locality.Node) bool {
			for i, j := range jobs {
				if left[i] == 0 {
					continue
				}
				d, err := j.Offer(now, level[n])
				require.NoError(t, err)
				if d.Launch {
					left[i]--
					return true
				}
			}
			return false
		}
	}
	var line delay.Line
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	return func(now time.Time, n locality.Node) bool {
		got, err := line.Offer(now, func(yield func(*delay.Job, locality.Level) bool) {
			for _, i := range order {
				if left[i] > 0 && !yield(jobs[i], level[n]) {
					return
				}
			}
		})
		require.NoError(t, err)
		if got == nil {
			return false
		}
		at := slices.IndexFunc(order, func(i int) bool { return jobs[i] == got })
		i := order[at]
		left[i]--
		order = append(slices.Delete(order, at, at+1), i) // it runs most
		return true
	}
}

// policy is the default one with the load's waits.
func (l load) policy() delay.Policy {
	p := delay.Policy{Waits: delay.Waits{l.wait}}
	if l.racks {
		p.Waits[1] = l.wait
	}
	return p
}

// makespan runs the load in virtual time.
func (l load) makespan(t testing.TB, p delay.Policy) time.Duration {
	t.Helper()
	offer := l.offerer(t, p)
	random := rand.New(rand.NewPCG(1, uint64(l.tasks)))
	until := make([]time.Duration, l.slots)
	slots := make([]int, l.slots)
	for i := range slots {
		slots[i] = i
	}
	if l.order == "far" {
		slices.Reverse(slots)
	}
	left, end := l.tasks/l.jobs*l.jobs, time.Duration(0)
	for now := time.Duration(0); left > 0; now += time.Second {
		switch l.order {
		case "random":
			random.Shuffle(len(slots), func(i, k int) { slots[i], slots[k] = slots[k], slots[i] })
		case "round":
			slots = append(slots[1:], slots[0])
		}
		for _, s := range slots {
			if left > 0 && until[s] <= now && offer(start.Add(now), locality.Node(s/l.each)) {
				left--
				until[s] = now + l.task
				end = max(end, until[s])
			}
		}
	}
	return end
}

// matrix calls try with each load, or with one of so many.
func matrix(one int, try func(load)) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, by := range []string{"queue", "line", "job"} {
		for _, jobs := range []int{1, 5, 25} {
			for _, tasks := range []int{50, 500, 2000} {
				for _, slots := range []int{20, 100} {
					for _, each := range []int{1, 2, 4} {
						for _, data := range []int{1, 2, 3, 5, 20, -2, -1} {
							l := load{by: by, jobs: jobs, tasks: tasks, slots: slots, each: each, data: data}
							nodes := slots / each
							if data < 0 { // a half, or all
								l.data = nodes / -data
							}
							if l.data <= nodes && (by != "job" || jobs == 1) {
								l.times(func(l load) {
									if random.IntN(one) == 0 {
										try(l)
									}
								})
							}
						}
					}
				}
			}
		}
	}
}

// times calls try with the load, in all lengths of tasks and waits, orders of
// offers, and with racks and without.
func (l load) times(try func(load)) {
	for _, l.task = range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} {
		for _, tenths := range []time.Duration{5, 12, 30} {
			l.wait = tenths * l.task / 10
			for _, l.order = range []string{"near", "far", "random", "round"} {
				for _, l.racks = range []bool{false, true} {
					try(l)
				}
			}
		}
	}
}

// Waits cost no more than 0.6 of the makespan without them, if the first wait alone
// does not. Slots are offered every second, and tasks have different lengths.
func TestPolicy_WaitsDoNotHoldTheCellUp(t *testing.T) {
	const beat = time.Second
	one := 100
	if *wholeMatrix {
		one = 1
	}
	var roomy, tight worst
	rows := 0
	matrix(one, func(l load) {
		none, got := l.makespan(t, delay.Policy{}), l.makespan(t, l.policy())
		waits := time.Duration(0)
		for _, w := range l.policy().Waits {
			waits += w
		}
		rounded := (waits + beat - 1) / beat * beat
		if first := none + rounded + l.task + beat; first <= none*8/5 {
			rows++
			roomy.add(l, none, got, rounded)
			require.LessOrEqual(t, got, none*8/5, "%v: without waits %v", l, none)
		} else {
			tight.add(l, none, got, rounded)
		}
		require.LessOrEqual(t, got, max(none*8/5, none+waits*9/4+got/16+l.task+3*beat), "%v: without waits %v", l, none)
	})
	require.Greater(t, rows, 20_000/one)
	t.Logf("the first wait leaves room:%v", &roomy)
	t.Logf("it does not:%v", &tight)
}

// worst keeps the loads with the largest growth of makespan by waits, and counts
// all.
type worst struct {
	rows []grown
	all  int
	over [4]int  // 1.3, 1.6, 2 and 4 times the makespan
	most float64 // makespan more than without waits, in sums of waits
}

// grown is the makespan of a load without waits and with them.
type grown struct {
	load      load
	none, got time.Duration
}

func (g *grown) ratio() float64 { return float64(g.got) / float64(g.none) }

func (w *worst) add(l load, none, got, waits time.Duration) {
	g := grown{l, none, got}
	w.all++
	w.most = max(w.most, float64(got-none)/float64(waits))
	for i, limit := range []float64{1.3, 1.6, 2, 4} {
		if g.ratio() > limit {
			w.over[i]++
		}
	}
	w.rows = append(w.rows, g)
	slices.SortStableFunc(w.rows, func(a, b grown) int { return cmp.Compare(b.ratio(), a.ratio()) })
	w.rows = w.rows[:min(len(w.rows), 12)]
}

func (w *worst) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, " %d loads, of which %v are above 1.3, 1.6, 2 and 4 times the makespan without waits; at most %.2f times all waits more",
		w.all, w.over, w.most)
	for i := range w.rows {
		g := &w.rows[i]
		fmt.Fprintf(&out, "\n%.2f times: %v instead of %v: %v", g.ratio(), g.got, g.none, g.load)
	}
	return out.String()
}

// The data of 500 tasks of 5 s is on few of 100 slots. A launch there every few
// seconds must not end the wait of 6 s.
func TestPolicy_SeveralPopularSlotsDoNotHoldTheWholeJob(t *testing.T) {
	for _, by := range []string{"queue", "line", "job"} {
		for _, order := range []string{"near", "far", "random", "round"} {
			for _, at := range []struct{ data, each int }{{1, 2}, {1, 4}, {2, 1}, {3, 1}, {20, 1}, {50, 1}, {99, 1}} {
				l := load{
					by: by, jobs: 1, tasks: 500, slots: 100, each: at.each, data: at.data, order: order,
					task: 5 * time.Second, wait: 6 * time.Second,
				}
				require.Equal(t, 25*time.Second, l.makespan(t, delay.Policy{}), "%v", l)
				require.LessOrEqual(t, l.makespan(t, l.policy()), 40*time.Second, "%v", l)
			}
		}
	}
}
