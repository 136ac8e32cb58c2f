package federation_test

import (
	"context"
	"errors"
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

// network is the faults and delays of a simulated network.
type network struct {
	delay, jitter time.Duration
	loss, double  float64
}

// world is a federation in virtual time: cells, masters, runners of tasks, users that
// submit jobs, and a network that may lose, delay, repeat and reorder messages.
type world struct {
	t         testing.TB
	rand      *rand.Rand
	net       network
	now       time.Time
	todo      agenda
	pushed    int
	heartbeat time.Duration
	timeout   time.Duration
	length    func() time.Duration // of a task; nil for tasks without end
	weights   map[string]float64
	grace     time.Duration
	limits    omega.Limits
	doubt     float64 // how often a store cannot tell the outcome of a commit, or fails

	names   []string // of the local masters
	cells   []*omega.Cell
	globals []*front
	sites   map[string]*back // by "local/global"
	jobs    map[string]federation.Job

	// What is true of tasks, whatever masters think.
	runs  map[federation.Task]string           // where a task runs now: "local/global"
	told  map[federation.Task]federation.Event // the last start of a task
	ended map[federation.Task]bool             // a runner has completed it
	count int                                  // starts
	// started, if not nil, is told of each start.
	started func(federation.Event)
	lies    bool // messages may say anything
	// through, if not nil, is applied to each message that arrives.
	through func(federation.Message) federation.Message
}

// front is a global master with the user that submits to it.
type front struct {
	*federation.Global
	name  string
	epoch uint64
	old   *federation.Global // a predecessor that has not noticed that it is one
	due   time.Time
	told  map[federation.Task]bool // that the user was told has ended
	mine  []string                 // jobs
}

// back is the verifier of a global master at a local master.
type back struct {
	*federation.Verifier
	local  int
	global string
	due    time.Time
}

var start = time.Unix(1_000_000, 0)

// newWorld returns a world with the given machines in each cell.
func newWorld(t testing.TB, seed uint64, net network, globals int, machines ...[]resources.Vector) *world {
	t.Helper()
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), net: net, now: start, heartbeat: 10 * time.Second, timeout: time.Second,
		limits: omega.Limits{Lowest: -10, Highest: 10},
		sites:  map[string]*back{}, jobs: map[string]federation.Job{},
		runs: map[federation.Task]string{}, told: map[federation.Task]federation.Event{}, ended: map[federation.Task]bool{},
	}
	for i := range globals {
		w.globals = append(w.globals, &front{name: fmt.Sprintf("global-%d", i), told: map[federation.Task]bool{}})
	}
	for i, capacities := range machines {
		var cfg omega.Config
		for n, c := range capacities {
			cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("m", n), Capacity: c})
		}
		cell, err := omega.NewCell(cfg)
		require.NoError(t, err)
		w.cells, w.names = append(w.cells, cell), append(w.names, fmt.Sprintf("local-%d", i))
	}
	return w
}

// begin makes all masters.
func (w *world) begin() {
	for _, f := range w.globals {
		w.makeGlobal(f)
	}
	for i, cell := range w.cells {
		for _, f := range w.globals {
			s, err := cell.Register(f.name, w.limits)
			require.NoError(w.t, err)
			w.makeVerifier(i, f.name, s, federation.Records{})
		}
	}
	for _, f := range w.globals {
		w.stepGlobal(f)
	}
}

func (w *world) makeGlobal(f *front) {
	g, err := federation.New(federation.Config{
		Name: f.name, Epoch: f.epoch, Locals: w.names, Timeout: w.timeout, Weights: w.weights, Grace: w.grace,
		Rand:   rand.New(rand.NewPCG(w.rand.Uint64(), 2)),
		Notify: func(e federation.Event) { w.heard(f, e) },
	})
	require.NoError(w.t, err)
	f.Global, f.due = g, time.Time{}
}

func (w *world) makeVerifier(local int, global string, s *omega.Scheduler, records federation.Records) {
	key := w.names[local] + "/" + global
	var all []string
	for _, f := range w.globals {
		all = append(all, f.name)
	}
	var store omega.Store
	if w.doubt > 0 {
		store = &doubtful{Local: omega.Local{Scheduler: s}, world: w}
	}
	v, err := federation.NewVerifier(federation.Local{
		Name: w.names[local], Scheduler: s, Store: store, Heartbeat: w.heartbeat, Piece: 64, Records: records,
		Partitions: federation.Split(1000, all...),
		Notify:     func(e federation.Event) { w.run(key, e) },
	})
	require.NoError(w.t, err)
	b := &back{Verifier: v, local: local, global: global}
	w.sites[key] = b
	w.stepVerifier(b)
}

// send gives messages to the network.
func (w *world) send(messages []federation.Message) {
	for _, m := range messages {
		copies := 1
		if w.rand.Float64() < w.net.double {
			copies = 2 + w.rand.IntN(2)
		}
		for range copies {
			if w.rand.Float64() < w.net.loss {
				continue
			}
			d := w.net.delay
			if w.net.jitter > 0 {
				d += time.Duration(w.rand.Int64N(int64(w.net.jitter)))
			}
			w.after(d, func() { w.deliver(m) })
		}
	}
}

func (w *world) deliver(m federation.Message) {
	if w.through != nil {
		m = w.through(m)
	}
	for _, f := range w.globals {
		if f.name != m.To {
			continue
		}
		require.NoError(w.t, f.Receive(m))
		w.stepGlobal(f)
		return
	}
	b, ok := w.sites[m.To+"/"+m.From]
	if !ok {
		return // it is dead
	}
	require.NoError(w.t, b.Receive(m))
	w.stepVerifier(b)
}

func (w *world) stepGlobal(f *front) {
	g := f.Global
	out, next := g.Step(w.now)
	w.send(out)
	if next.IsZero() || !f.due.IsZero() && !next.Before(f.due) && f.due.After(w.now) {
		return
	}
	f.due = next
	w.at(next, func() {
		if f.Global == g && f.due.Equal(next) {
			f.due = time.Time{}
			w.stepGlobal(f)
		}
	})
}

func (w *world) stepVerifier(b *back) {
	count := w.count
	out, next, err := b.Step(context.Background(), w.now)
	if w.doubt > 0 && (errors.Is(err, omega.ErrOutcome) || errors.Is(err, errStore)) {
		w.after(50*time.Millisecond, func() {
			if w.sites[w.names[b.local]+"/"+b.global] == b {
				w.stepVerifier(b)
			}
		})
		err = nil
	}
	require.NoError(w.t, err)
	w.send(out)
	if w.grace != 0 && w.count > count { // a task that started may have preempted some
		for _, f := range w.globals {
			w.after(0, func() {
				if other := w.sites[w.names[b.local]+"/"+f.name]; other != nil && other != b {
					w.stepVerifier(other)
				}
			})
		}
	}
	if next.Equal(b.due) {
		return
	}
	b.due = next
	w.at(next, func() {
		if w.sites[w.names[b.local]+"/"+b.global] == b {
			w.stepVerifier(b)
		}
	})
}

// run is the runner of tasks at a local master. A task never starts while it runs, and
// never after it has ended.
func (w *world) run(key string, e federation.Event) {
	switch e.Kind {
	case federation.Started:
		require.Empty(w.t, w.runs[e.Task], "%v starts at %s and runs already", e.Task, key)
		require.False(w.t, w.ended[e.Task], "%v starts at %s and has ended", e.Task, key)
		w.runs[e.Task], w.told[e.Task] = key, e
		w.count++
		if w.started != nil {
			w.started(e)
		}
		if w.length == nil {
			return
		}
		n := w.count
		w.after(w.length(), func() {
			if w.runs[e.Task] == key && n <= w.count {
				w.finish(e.Task, true)
			}
		})
	case federation.Stopping:
		w.after(0, func() {
			if w.runs[e.Task] == key {
				w.finish(e.Task, false)
			}
		})
	case federation.Returned:
		delete(w.runs, e.Task) // lost with its machine, or stopped
	}
}

// finish ends a run.
func (w *world) finish(t federation.Task, complete bool) {
	b := w.sites[w.runs[t]]
	delete(w.runs, t)
	w.ended[t] = complete
	require.NoError(w.t, b.Done(w.told[t], complete))
	w.stepVerifier(b)
}

// heard is the user of a global master.
func (w *world) heard(f *front, e federation.Event) {
	if e.Kind == federation.Ended && !w.lies {
		require.True(w.t, w.ended[e.Task], "%s says that %v has ended", f.name, e.Task)
		f.told[e.Task] = true
	}
}

func (w *world) submit(f *front, j federation.Job) {
	require.NoError(w.t, f.Submit(j))
	w.jobs[j.Name] = j
	f.mine = append(f.mine, j.Name)
	w.stepGlobal(f)
}

func (w *world) stepAll() {
	for _, name := range w.names {
		for _, f := range w.globals {
			w.stepVerifier(w.sites[name+"/"+f.name])
		}
	}
}

// check verifies that each cell is whole, and that it holds what runs and nothing else.
func (w *world) check() {
	running := map[string]int{}
	for _, key := range w.runs {
		running[key]++
	}
	for i, cell := range w.cells {
		require.NoError(w.t, cell.Check())
		held := map[string]int{}
		for a := range cell.Allocations() {
			held[w.names[i]+"/"+a.Scheduler]++
		}
		for _, f := range w.globals {
			key := w.names[i] + "/" + f.name
			if w.doubt > 0.01 {
				continue // what is in doubt may be there or not
			}
			require.Equal(w.t, running[key], held[key], "tasks that run at %s, and allocations", key)
		}
	}
}

// allEnded verifies that each task has ended, and that its user knows.
func (w *world) allEnded() {
	for _, f := range w.globals {
		for _, name := range f.mine {
			for i := range w.jobs[name].Tasks {
				task := federation.Task{Job: name, Index: i}
				require.True(w.t, w.ended[task], "%v of %s was not run to its end: %+v", task, f.name, f.Stats())
				require.True(w.t, f.told[task], "the user of %s was not told that %v has ended", f.name, task)
			}
		}
		s := f.Stats()
		require.Zero(w.t, s.Waiting+s.Running, "tasks that %s thinks are left", f.name)
	}
}

// slots returns machines of one kind.
func slots(n int, capacity int64) []resources.Vector {
	return slices.Repeat([]resources.Vector{{capacity}}, n)
}

// ssd is a requirement.
func ssd() []locality.Predicate {
	return []locality.Predicate{locality.Equal("disk", locality.Text("ssd"))}
}

// claim takes the first machine of a scheduler's cell.
func claim(t testing.TB, s *omega.Scheduler) omega.AllocationID {
	t.Helper()
	var tx omega.Txn
	for m := range s.Cell().Machines() {
		tx.Claim(omega.Claim{Machine: m.ID, Need: resources.Vector{1}})
		break
	}
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	id, _ := tx.Allocation(0)
	return id
}
