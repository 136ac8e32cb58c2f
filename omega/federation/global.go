package federation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Config is a global master.
type Config struct {
	// Name is unique among all masters, and that of its schedulers in the cells.
	Name string
	// Epoch is higher than the epoch of each global master that had the name before. At
	// most 2^24 - 2.
	Epoch uint64
	// Locals are the names of the local masters, each once, at least one.
	Locals []string
	// Weights, if not nil, order users by weighted dominant share. A user without an
	// entry has weight 1. With nil Weights users take turns, as in the paper.
	Weights map[string]float64
	// Timeout is how long an answer may take before a message is sent again; 0 is one
	// second. A local master that did not answer in time gets no new launches until it
	// is heard.
	Timeout time.Duration
	// Grace, if not 0, lets a task that fits nowhere preempt others: tasks of lower
	// precedence and, with Weights, tasks of users above their fair share where its own
	// user is below. It is the time that victims have to stop, or [omega.AtOnce]. Gangs
	// preempt nothing.
	Grace time.Duration
	// Rand chooses where a search for a machine to borrow begins if none was heard of
	// lately, so that global masters seldom choose the same one. Nil begins with the
	// first machine.
	Rand *rand.Rand
	// Notify, if not nil, is told of each event by Step, before the messages that
	// depend on it are returned. It must not call methods of the global master other
	// than Submit and Stats.
	Notify func(Event)
}

// maxEpoch is the highest epoch of a [Config].
const maxEpoch = 1<<24 - 2

const (
	defaultTimeout = time.Second
	batchSize      = 100 // launches to a message
)

// Stats are counts of a global master: of its work so far, and of the tasks that it has.
type Stats struct {
	Waiting, Running int // tasks now; tasks in an unanswered batch are neither
	// Sent counts all launches, Borrowed the launches outside of the own partitions,
	// and Refused the refused ones.
	Sent, Borrowed, Refused uint64
}

// Global is a global master: it has a queue for each user, and matches tasks with
// machines of all local masters by their last reports. New makes it.
//
// It is a state machine. Receive takes messages, Step decides and returns messages; Run
// is a loop of both. All methods are safe for concurrent use. Nothing of a Global needs
// to survive it: see Config.Epoch and Job.Ended. The methods of a nil Global fail with
// [resources.ErrNil], or return nothing.
type Global struct {
	mu     sync.Mutex
	cfg    Config
	epoch  uint64
	sites  []*site
	byName map[string]*site
	order  order
	jobs   map[string]*job
	held   []*job         // that wait for the lists of all sites
	found  map[Task]found // tasks of jobs that were not submitted here
	// classes are shared by jobs that fit alike.
	classes map[classKey]*class
	// gains counts the changes after which there may be room that there was not.
	gains    uint64
	internal int // the site to begin the next search with, in the own partitions
	external int // and in the others'
	seq      uint64
	mask     []uint64   // scratch
	places   [2][]place // scratch
	events   []Event
	gone     bool // superseded
	stats    Stats
	wake     chan struct{}
}

// found is the place of a task that was submitted to a predecessor.
type found struct {
	site  int32
	ended bool
}

type classKey struct {
	need    resources.Vector
	require string
	gang    int
	order   omega.Precedence
}

// New returns a global master that knows nothing of the cells yet. Errors: [ErrInvalid]
// names the field and the value.
func New(cfg Config) (*Global, error) {
	if err := resources.CheckName(cfg.Name); err != nil {
		return nil, fault.New("federation", "name of a global master", err, ErrInvalid)
	}
	if cfg.Epoch > maxEpoch {
		return nil, invalid("epoch %d, want at most %d", cfg.Epoch, maxEpoch)
	}
	if cfg.Timeout < 0 {
		return nil, invalid("timeout %v, want 0 or more", cfg.Timeout)
	}
	if cfg.Grace < 0 && cfg.Grace != omega.AtOnce {
		return nil, invalid("grace %v, want 0 or more, or omega.AtOnce", cfg.Grace)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if len(cfg.Locals) == 0 {
		return nil, invalid("no local master, want one at least")
	}
	g := &Global{
		cfg: cfg, epoch: cfg.Epoch + 1, byName: map[string]*site{}, order: makeOrder(cfg.Weights != nil),
		jobs: map[string]*job{}, found: map[Task]found{}, classes: map[classKey]*class{}, gains: 1, wake: make(chan struct{}, 1),
	}
	for _, name := range cfg.Locals {
		if err := resources.CheckName(name); err != nil {
			return nil, fault.New("federation", "name of a local master", err, ErrInvalid)
		}
		if g.byName[name] != nil || name == cfg.Name {
			return nil, invalid("local master %s: another master has that name", fault.Quote(name))
		}
		s := &site{name: name, index: len(g.sites), number: g.epoch << 32}
		g.sites, g.byName[name] = append(g.sites, s), s
	}
	return g, nil
}

// Submit brings in a job. Errors: [ErrInvalid] for a job that makes no sense, or has the
// name of one that has not ended; [ErrSuperseded].
func (g *Global) Submit(j Job) error {
	if g == nil {
		return absent("global master")
	}
	if err := j.check(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return ErrSuperseded
	}
	if g.jobs[j.Name] != nil {
		return invalid("job %s: another one of that name has not ended", fault.Quote(j.Name))
	}
	class, err := g.class(&j)
	if err != nil {
		return err
	}
	u, err := g.order.user(j.User, g.weight(j.User))
	if err != nil {
		return fault.New("federation", fmt.Sprintf("job %s: user %s", fault.Quote(j.Name), fault.Quote(j.User)), err, ErrInvalid)
	}
	g.seq++
	class.jobs++
	u.jobs++
	own := &job{Job: j, seq: g.seq, user: u, class: class, tasks: make([]placement, j.Tasks), left: j.Tasks}
	g.jobs[j.Name] = own
	for _, i := range j.Ended {
		own.tasks[i].phase = ended
		own.left--
		delete(g.found, Task{j.Name, i})
	}
	if j.Ended != nil && !g.listed() {
		g.held = append(g.held, own)
	} else {
		g.enqueue(own)
	}
	g.signal()
	return nil
}

// listed reports whether all local masters have listed their tasks.
func (g *Global) listed() bool {
	for _, s := range g.sites {
		if s.incarnation == 0 {
			return false
		}
	}
	return true
}

// enqueue queues the tasks of a job, except tasks that were found to run or have ended.
func (g *Global) enqueue(j *job) {
	for i := j.Tasks - 1; i >= 0; i-- {
		at, known := g.found[Task{j.Name, i}]
		switch p := &j.tasks[i]; {
		case p.phase != idle:
		case known && at.ended && j.Ended != nil: // without Ended, an older job of the name has ended
			p.phase = ended
			j.left--
		case known && !at.ended:
			*p = placement{running, at.site}
			g.stats.Running++
			g.order.charge(j.user, j.Need)
		default:
			p.phase = waiting
			g.stats.Waiting++
			j.waiting = append(j.waiting, int32(i))
		}
		delete(g.found, Task{j.Name, i})
	}
	if len(j.waiting) > 0 {
		j.user.push(j)
		g.order.demand(j.user)
	}
	g.drop(j)
}

// drop forgets a job whose tasks have all ended, its class with the last of the class,
// and its user with the last of the user.
func (g *Global) drop(j *job) {
	if j.left > 0 {
		return
	}
	delete(g.jobs, j.Name)
	if j.class.jobs--; j.class.jobs == 0 {
		delete(g.classes, j.class.key())
	}
	if j.user.jobs--; j.user.jobs == 0 {
		g.order.remove(j.user)
	}
}

func (c *class) key() classKey { return classKey{c.need, c.require, c.gang, c.order} }

// class returns the class of a job. Jobs with equal needs and predicates share one.
func (g *Global) class(j *Job) (*class, error) {
	key := classKey{need: j.Need, require: j.require(), order: j.Precedence}
	if j.Gang {
		key.gang = j.Tasks
	}
	if c := g.classes[key]; c != nil {
		return c, nil
	}
	for i, p := range j.Require {
		if onNumber(p) {
			return nil, invalid("job %s: requirement %d: %s, want texts", fault.Quote(j.Name), i, fault.List(p.String()))
		}
	}
	c := &class{need: j.Need, require: key.require, gang: key.gang, order: j.Precedence}
	if len(j.Require) > 0 {
		for _, s := range g.sites {
			numbers := make([]locality.Constraint, len(j.Require))
			for i, p := range j.Require {
				var err error
				if numbers[i], err = s.where.Register(p); err != nil {
					return nil, fault.New("federation", fmt.Sprintf("job %s: requirement %d", fault.Quote(j.Name), i), err, ErrInvalid)
				}
			}
			where, err := s.where.Require(numbers...)
			if err != nil {
				return nil, fault.New("federation", "requirements", err, ErrInvalid)
			}
			c.where = append(c.where, where)
		}
	}
	g.classes[key] = c
	return c, nil
}

// onNumber reports whether a predicate compares a number: in its text names and texts are
// quoted, and numbers are not. A site that knew it would refuse the text of a machine.
func onNumber(p locality.Predicate) bool {
	text := strings.TrimSuffix(p.String(), "}")
	return text != "" && '0' <= text[len(text)-1] && text[len(text)-1] <= '9'
}

// Stats returns counts of past launches, and of the tasks that wait or run.
func (g *Global) Stats() Stats {
	if g == nil {
		return Stats{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stats
}

// signal makes Run look again.
func (g *Global) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
