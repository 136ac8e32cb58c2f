// Federation runs jobs of two front ends on three cells in one process, over a network
// that takes a millisecond. One front end dies in the middle. Its tasks go on, and its
// successor places the others.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const (
	delay    = time.Millisecond // of the network
	length   = 20 * time.Millisecond
	machines = 8 // in a cell, each with room for 2 tasks
	tasks    = 240
)

var (
	cells  = []string{"amsterdam", "berlin", "cracow"}
	fronts = []string{"front-0", "front-1"}
)

func main() {
	ctx := context.Background()
	page, err := serve.Start(ctx)
	if err == nil {
		err = play(ctx, page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "federation:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

func play(parent context.Context, page *serve.Page) error {
	ctx, stop := context.WithCancel(parent)
	net := &network{to: map[string]func(federation.Message) error{}}
	var running sync.WaitGroup
	defer net.wait()
	defer running.Wait()
	defer stop()

	r := &runners{starts: map[federation.Task]int{}, in: map[string]int{}}
	for _, name := range cells {
		if err := open(ctx, page, name, net, r, &running); err != nil {
			return err
		}
	}
	users := map[string]*user{}
	lives := map[string]func(){}
	for i, name := range fronts {
		u := &user{job: federation.Job{Name: fmt.Sprint("job-", i), User: fmt.Sprint("user-", i), Tasks: tasks, Need: resources.Vector{1}}, half: make(chan struct{}), all: make(chan struct{})}
		users[name] = u
		life, err := begin(ctx, name, 0, net, u, &running)
		if err != nil {
			return err
		}
		lives[name] = life
	}

	<-users["front-0"].half
	lives["front-0"]()
	fmt.Printf("front-0 dies when %d of its %d tasks have ended\n", users["front-0"].count(), tasks)
	if _, err := begin(ctx, "front-0", 1, net, users["front-0"], &running); err != nil {
		return err
	}
	for _, name := range fronts {
		<-users[name].all
		fmt.Printf("%s: %d tasks have ended\n", name, users[name].count())
	}
	return r.report()
}

// open makes a cell with a verifier for each front end.
func open(ctx context.Context, page *serve.Page, name string, net *network, r *runners, running *sync.WaitGroup) error {
	var cfg omega.Config
	for n := range machines {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprintf("%s-%d", name, n), Capacity: resources.Vector{2}})
	}
	cell, err := omega.NewCell(cfg)
	if err != nil {
		return err
	}
	page.Show("/cell/"+name+"/", view.Config{Cell: cell})
	if name == cells[0] {
		page.Show("/cell/", view.Config{Cell: cell})
	}
	for _, front := range fronts {
		s, err := cell.Register(front, omega.Limits{})
		if err != nil {
			return err
		}
		var v *federation.Verifier
		v, err = federation.NewVerifier(federation.Local{
			Name: name, Scheduler: s, Partitions: federation.Split(machines, fronts...), Heartbeat: time.Second,
			Notify: func(e federation.Event) {
				if e.Kind == federation.Started {
					r.start(e.Task, name)
					running.Add(1)
					time.AfterFunc(length, func() { // the work
						defer running.Done()
						if err := v.Done(e, true); err != nil {
							fmt.Fprintln(os.Stderr, "federation:", err)
						}
					})
				}
			},
		})
		if err != nil {
			return err
		}
		net.join(name+"/"+front, v.Receive)
		running.Go(func() { _ = v.Run(ctx, net.send) })
	}
	return nil
}

// begin makes a front end with the job of a user, less the tasks that have ended.
func begin(ctx context.Context, name string, epoch uint64, net *network, u *user, running *sync.WaitGroup) (die func(), err error) {
	g, err := federation.New(federation.Config{
		Name: name, Epoch: epoch, Locals: cells, Timeout: 50 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, epoch)), Notify: u.hear,
	})
	if err != nil {
		return nil, err
	}
	job := u.job
	if epoch > 0 {
		job.Ended = u.known()
	}
	if err := g.Submit(job); err != nil {
		return nil, err
	}
	net.join(name, g.Receive)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	running.Go(func() {
		defer close(ended)
		_ = g.Run(ctx, net.send)
	})
	return func() { // a master that runs on may acknowledge an end that its successor does not know of
		cancel()
		<-ended
	}, nil
}

// user has one job, and remembers which of its tasks have ended.
type user struct {
	job       federation.Job
	half, all chan struct{}

	mu    sync.Mutex
	ended map[int]bool
}

func (u *user) hear(e federation.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if e.Kind != federation.Ended || u.ended[e.Task.Index] {
		return
	}
	if u.ended == nil {
		u.ended = map[int]bool{}
	}
	u.ended[e.Task.Index] = true
	switch len(u.ended) {
	case tasks / 2:
		close(u.half)
	case tasks:
		close(u.all)
	}
}

func (u *user) known() []int {
	u.mu.Lock()
	defer u.mu.Unlock()
	ended := []int{}
	for i := range u.ended {
		ended = append(ended, i)
	}
	slices.Sort(ended)
	return ended
}

func (u *user) count() int { return len(u.known()) }

// runners counts the starts of tasks.
type runners struct {
	mu     sync.Mutex
	starts map[federation.Task]int
	in     map[string]int
}

func (r *runners) start(t federation.Task, cell string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts[t]++
	r.in[cell]++
}

func (r *runners) report() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t, n := range r.starts {
		if n != 1 {
			return fmt.Errorf("%v was started %d times", t, n)
		}
	}
	var used []string
	for _, c := range cells {
		if r.in[c] > 0 {
			used = append(used, c)
		}
	}
	fmt.Printf("%d tasks, each started once, in %s\n", len(r.starts), strings.Join(used, ", "))
	if len(r.starts) != len(fronts)*tasks {
		return errors.New("a task was not started")
	}
	return nil
}

// network hands messages over after a delay. A verifier is known by its cell and its
// front end.
type network struct {
	mu  sync.Mutex
	to  map[string]func(federation.Message) error
	out sync.WaitGroup
}

func (n *network) join(name string, receive func(federation.Message) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to[name] = receive
}

func (n *network) send(m federation.Message) {
	n.out.Add(1)
	time.AfterFunc(delay, func() {
		defer n.out.Done()
		n.mu.Lock()
		receive := n.to[m.To]
		if receive == nil {
			receive = n.to[m.To+"/"+m.From]
		}
		n.mu.Unlock()
		if err := receive(m); err != nil && !errors.Is(err, federation.ErrSuperseded) {
			fmt.Fprintln(os.Stderr, "federation:", err)
		}
	})
}

func (n *network) wait() { n.out.Wait() }
