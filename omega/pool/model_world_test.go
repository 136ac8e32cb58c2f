package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// model is a model of a pool in numbers: it replays events and knows no queue, no order
// and no tree.
type model struct {
	pool     *pool.Pool
	events   *observe.Subscription
	start    time.Time
	machines map[string]*modelMachine
	all      []*modelTenant
	leaves   []*modelTenant
	byName   map[string]*modelTenant
	asks     []*ask
	held     []pool.Lease
}

type modelMachine struct {
	capacity, held resources.Vector
	leases         int
	draining, gone bool
}

type modelTenant struct {
	name    string
	handle  *pool.Tenant
	parent  *modelTenant
	held    resources.Vector
	limit   resources.Vector
	limited bool
	strict  bool
	queue   int
	waiting int
	rated   bool // may have a rate
	rate    float64
	burst   float64
	tokens  float64
	at      time.Duration // when tokens was right
}

// ask is a request that a goroutine of its own waits for.
type ask struct {
	tenant *modelTenant
	r      pool.Request
	cancel context.CancelFunc
	begin  time.Duration
	done   chan struct{}
	leases []pool.Lease
	err    error
	ended  time.Duration
}

func newModel(t *testing.T, p *pool.Pool, capacities []int64) *model {
	t.Helper()
	m := &model{pool: p, events: p.Subscribe(4096), start: time.Now(), machines: map[string]*modelMachine{}, byName: map[string]*modelTenant{}}
	for i, c := range capacities {
		m.machines[fmt.Sprint("m", i)] = &modelMachine{capacity: v(c, c)}
	}
	// Two tenants, and a group of two and a group; those of the group have rates.
	add := func(parent *modelTenant, name string, leaf bool) *modelTenant {
		n := &modelTenant{name: name, parent: parent, rated: parent != nil || !leaf}
		if parent != nil {
			child, err := parent.handle.Tenant(name)
			if err != nil {
				t.Fatal(err)
			}
			n.name, n.handle = parent.name+"/"+name, child
		} else {
			n.handle = tenant(t, p, name)
		}
		m.all, m.byName[n.name] = append(m.all, n), n
		if leaf {
			m.leaves = append(m.leaves, n)
		}
		return n
	}
	add(nil, "a", true)
	add(nil, "b", true)
	org := add(nil, "org", false)
	add(org, "c", true)
	team := add(org, "team", false)
	add(team, "d", true)
	add(team, "e", true)
	return m
}

func (m *model) now() time.Duration { return time.Since(m.start) }

// setRate changes a rate as Settings say: tokens stay, up to the burst.
func (n *modelTenant) setRate(rate float64, burst int) {
	fresh := n.rate == 0
	n.rate, n.burst = rate, float64(max(burst, 1))
	if fresh || n.tokens > n.burst {
		n.tokens = n.burst
	}
}

// tick fills all buckets.
func (m *model) tick() {
	for _, n := range m.all {
		n.fill(m.now())
	}
}

func (n *modelTenant) fill(now time.Duration) {
	n.tokens = min(n.burst, n.tokens+n.rate*(now-n.at).Seconds())
	n.at = now
}

// could reports whether a need may start: limits, rates and a machine have room.
// Of a token so much has to be there: rounding may add or take some.
func (m *model) could(n *modelTenant, need resources.Vector, r *pool.Request, token float64) bool {
	for g := n; g != nil; g = g.parent {
		if g.limited && !sum(g.held, need).Fits(g.limit) {
			return false
		}
		if g.rate > 0 {
			if g.fill(m.now()); g.tokens < token {
				return false
			}
		}
	}
	for name, at := range m.machines {
		if at.gone || at.draining || r != nil && r.Required && name != fmt.Sprint("m", r.Prefer[0]) {
			continue
		}
		if sum(at.held, need).Fits(at.capacity) {
			return true
		}
	}
	return false
}

// ask starts a request.
func (m *model) ask(n *modelTenant, r pool.Request, impatient bool) {
	ctx, cancel := context.WithCancel(context.Background())
	if impatient {
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
	}
	a := &ask{tenant: n, r: r, cancel: cancel, begin: m.now(), done: make(chan struct{})}
	m.asks = append(m.asks, a)
	go func() {
		defer close(a.done)
		if len(r.Needs) == 1 && r.Label == "" {
			var l pool.Lease
			if l, a.err = n.handle.Acquire(ctx, r.Needs[0]); a.err == nil {
				a.leases = []pool.Lease{l}
			}
		} else {
			a.leases, a.err = n.handle.Request(ctx, r)
		}
		a.ended = m.now()
	}()
}

// compare waits for the pool to rest, replays what has happened and looks for what
// should have.
func (m *model) compare() error {
	// Those that arrive are judged by what the model knew before.
	full := map[*modelTenant]bool{}
	for _, n := range m.leaves {
		full[n] = n.queue > 0 && n.waiting >= n.queue
	}
	synctest.Wait()
	for len(m.events.Events()) > 0 {
		if err := m.replay(<-m.events.Events()); err != nil {
			return err
		}
	}
	var rest []*ask
	for _, a := range m.asks {
		select {
		case <-a.done:
			m.held = append(m.held, a.leases...)
			if err := m.outcome(a, full[a.tenant]); err != nil {
				return err
			}
		default:
			rest = append(rest, a)
		}
	}
	m.asks = rest
	if err := m.compareStats(); err != nil {
		return err
	}
	return m.compareWaiters()
}

// replay applies an event.
func (m *model) replay(e observe.Event) error {
	if e.Kind == observe.Refused {
		return nil
	}
	at, n := m.machines[e.Machine], m.byName[e.Tenant]
	if n == nil {
		n = &modelTenant{name: e.Tenant}
		m.byName[e.Tenant] = n
	}
	if e.Kind == observe.Released {
		at.held, at.leases = sub(at.held, e.Need), at.leases-1
		for ; n != nil; n = n.parent {
			n.held = sub(n.held, e.Need)
		}
		return nil
	}
	if at.held, at.leases = sum(at.held, e.Need), at.leases+1; !at.held.Fits(at.capacity) {
		return fmt.Errorf("%s holds %v, more than its capacity %v", e.Machine, at.held, at.capacity)
	}
	if at.draining || at.gone {
		return fmt.Errorf("%s is draining or gone, and granted %v", e.Machine, e.Need)
	}
	for ; n != nil; n = n.parent {
		if n.held = sum(n.held, e.Need); n.limited && !n.held.Fits(n.limit) {
			return fmt.Errorf("%s holds %v, more than its limit %v", n.name, n.held, n.limit)
		}
		if n.fill(e.At.Sub(m.start)); n.rate > 0 {
			if n.tokens--; n.tokens < -1e-6 {
				return fmt.Errorf("%s is %v over its rate", n.name, -n.tokens)
			}
		}
	}
	return nil
}

// outcome checks how a request ended.
func (m *model) outcome(a *ask, full bool) error {
	a.cancel()
	switch {
	case a.err == nil:
		if len(a.leases) != len(a.r.Needs) {
			return fmt.Errorf("%d leases for %d needs", len(a.leases), len(a.r.Needs))
		}
		for i, l := range a.leases {
			if l.Need() != a.r.Needs[i] {
				return fmt.Errorf("a lease of %v for a need of %v", l.Need(), a.r.Needs[i])
			}
			if a.r.Required && l.Node() != a.r.Prefer[0] {
				return fmt.Errorf("a lease on %d, required was %d", l.Node(), a.r.Prefer[0])
			}
		}
	case errors.Is(a.err, pool.ErrWait):
		if a.r.MaxWait == 0 || a.ended-a.begin != a.r.MaxWait {
			return fmt.Errorf("after %v: %w", a.ended-a.begin, a.err)
		}
	case errors.Is(a.err, pool.ErrQueueFull):
		if !full {
			return a.err
		}
	case errors.Is(a.err, context.DeadlineExceeded):
		if a.ended-a.begin != time.Second {
			return fmt.Errorf("after %v: %w", a.ended-a.begin, a.err)
		}
	case errors.Is(a.err, context.Canceled):
	default:
		return m.refusal(a.tenant, a.r.Needs, a.r, a.err)
	}
	return nil
}

// refusal checks that a need that was refused as impossible is.
func (m *model) refusal(n *modelTenant, needs []resources.Vector, r pool.Request, err error) error {
	if err == nil || errors.Is(err, pool.ErrQueueFull) && n.queue > 0 && n.waiting >= n.queue {
		return nil
	}
	if !errors.Is(err, pool.ErrNeed) || len(needs) > 1 {
		if errors.Is(err, pool.ErrNeed) || r.Prefer != nil && errors.Is(err, pool.ErrMachine) {
			return nil
		}
		return err
	}
	for g := n; g != nil; g = g.parent {
		if g.limited && !needs[0].Fits(g.limit) {
			return nil
		}
	}
	for name, at := range m.machines {
		if !at.gone && needs[0].Fits(at.capacity) && (!r.Required || name == fmt.Sprint("m", r.Prefer[0])) {
			return fmt.Errorf("%s could hold %v: %w", name, needs[0], err)
		}
	}
	return nil
}

// compareStats checks conservation, machine by machine and tenant by tenant.
func (m *model) compareStats() error {
	s := m.pool.Stats()
	leases := 0
	for _, at := range s.Machines {
		want := m.machines[at.Name]
		leases += want.leases
		for k := range want.held {
			if free := max(0, want.capacity[k]-want.held[k]); at.Free[k] != free {
				return fmt.Errorf("%s has %d free of kind %d, the model %d", at.Name, at.Free[k], k, free)
			}
		}
		if at.Held != want.held || at.Capacity != want.capacity || at.Leases != want.leases || at.Draining != want.draining {
			return fmt.Errorf("%+v, the model has %+v", at, want)
		}
	}
	if s.Leases != leases {
		return fmt.Errorf("%d leases, the model has %d", s.Leases, leases)
	}
	for _, n := range s.Tenants {
		want := m.byName[n.Name]
		if n.Held != want.held {
			return fmt.Errorf("%s holds %v, the model has %v", n.Name, n.Held, want.held)
		}
		want.waiting = n.Waiting
	}
	return nil
}

// compareWaiters looks for a request that waits and need not.
func (m *model) compareWaiters() error {
	behind := map[string]int{}
	for _, w := range m.pool.Waiters() {
		n := m.byName[w.Tenant]
		behind[w.Tenant]++
		if n.strict && behind[w.Tenant] > 1 || len(w.Needs) > 1 {
			continue
		}
		r := pool.Request{}
		for _, a := range m.asks { // one that requires a machine is told by its need
			if a.tenant == n && a.r.Required && a.r.Needs[0] == w.Needs[0] {
				r = a.r
			}
		}
		if m.could(n, w.Needs[0], &r, 1+1e-6) {
			return fmt.Errorf("a request of %s for %v waits beside free room: %s", w.Tenant, w.Needs[0], w.Reason)
		}
	}
	return nil
}

// end lifts all bounds and ends all leases until nothing waits.
func (m *model) end() error {
	var failed error
	for _, n := range m.all {
		if err := n.handle.Set(pool.Settings{}); err != nil {
			return err
		}
		n.limited, n.rate, n.queue, n.strict = false, 0, 0, false
	}
	for name, at := range m.machines {
		if !at.gone {
			_ = m.pool.DrainMachine(name, false)
			at.draining = false
		}
	}
	for round := 0; failed == nil && round < math.MaxInt16; round++ {
		if failed = m.compare(); len(m.held) == 0 && m.pool.Stats().Leases == 0 {
			break
		}
		for _, l := range m.held {
			_ = l.Release()
		}
		m.held = nil
		time.Sleep(10 * time.Second) // tasks of Go end
	}
	for _, a := range m.asks {
		if failed == nil {
			failed = fmt.Errorf("a request of %s for %v is forgotten in an empty pool", a.tenant.name, a.r.Needs)
		}
		a.cancel()
	}
	synctest.Wait()
	for _, a := range m.asks {
		for _, l := range a.leases {
			_ = l.Release()
		}
	}
	for _, l := range m.held {
		_ = l.Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := m.pool.Shutdown(ctx); failed == nil && !errors.Is(err, pool.ErrNeed) { // of tasks that became impossible
		failed = err
	}
	m.events.Close()
	return failed
}
