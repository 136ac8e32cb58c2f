package pool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Random calls of every sort against a model that replays the events of the pool. Each
// machine and limit holds, each rate too, and whenever the pool is at rest no request
// waits that it could serve. In the end all are served. A lost wake-up shows as a request
// that waits beside free room.
func TestPool_BehavesLikeTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.Custom(drawStep), 1, 60).Draw(rt, "script")
		capacities := rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 4).Draw(rt, "machines")
		order := rapid.SampledFrom([]pool.Order{pool.OverTime, pool.Instant}).Draw(rt, "order")
		var failed error
		synctest.Test(t, func(t *testing.T) { failed = play(t, capacities, order, script) })
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

// step is one call, or some time. Its numbers select tenants, leases and amounts,
// modulo how many there are.
type step struct {
	Call    string
	A, B, C int
}

var calls = []string{
	"acquire", "acquire", "acquire", "request", "request", "gang", "go", "try", "try", "release", "release", "release",
	"resize", "cancel", "sleep", "sleep", "add", "drain", "resize machine", "remove", "set", "set",
}

func drawStep(t *rapid.T) step {
	n := rapid.IntRange(0, 63)
	return step{rapid.SampledFrom(calls).Draw(t, "call"), n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")}
}

// play runs a script and returns how the pool differs from the model.
func play(t *testing.T, capacities []int64, order pool.Order, script []step) error {
	t.Helper()
	p := newPool(t, pool.Config{Machines: machines(capacities...), Order: order, Patience: -1})
	m := newModel(t, p, capacities)
	var failed error
	for i, s := range script {
		if failed = m.do(s); failed != nil {
			failed = fmt.Errorf("step %d, %+v: %w", i, s, failed)
			break
		}
	}
	if err := m.end(); failed == nil {
		failed = err
	}
	return failed
}

// do makes one call and compares.
func (m *model) do(s step) error {
	n := m.leaves[s.A%len(m.leaves)]
	need := v(int64(s.B%7), int64(s.B/7%4))
	if need == (resources.Vector{}) {
		need = v(1)
	}
	switch s.Call {
	case "acquire":
		m.ask(n, pool.Request{Needs: []resources.Vector{need}}, s.C%8 == 0)
	case "request":
		r := pool.Request{Needs: []resources.Vector{need}, Priority: s.C % 3, Label: "request"}
		if s.C%4 == 1 {
			r.MaxWait = time.Duration(1+s.C/4) * 100 * time.Millisecond
		}
		if s.C%4 == 2 {
			r.Prefer, r.Required = []locality.Node{locality.Node(s.C / 4 % len(m.machines))}, s.C >= 32
		}
		m.ask(n, r, s.C%8 == 0)
	case "gang":
		m.ask(m.leaves[s.A%2], pool.Request{Needs: []resources.Vector{need, v(1), v(0, 1)}}, s.C%8 == 0)
	case "go":
		length := time.Duration(s.C) * 50 * time.Millisecond
		err := n.handle.Go(context.Background(), need, func(context.Context, pool.Lease) error {
			time.Sleep(length)
			return nil
		})
		if err := m.refusal(n, []resources.Vector{need}, pool.Request{}, err); err != nil {
			return err
		}
	case "try":
		may := n.waiting == 0 && m.could(n, need, nil, 1-1e-6)
		must := n.waiting == 0 && m.could(n, need, nil, 1+1e-6)
		l, ok := n.handle.TryAcquire(need)
		if ok && !may || !ok && must {
			return fmt.Errorf("TryAcquire of %v by %s returned %v, the model %v", need, n.name, ok, !ok)
		}
		if ok {
			m.held = append(m.held, l)
		}
	case "release":
		if len(m.held) > 0 {
			i := s.A % len(m.held)
			l := m.held[i]
			m.held = append(m.held[:i], m.held[i+1:]...)
			if err := l.Release(); err != nil {
				return err
			}
		}
	case "resize":
		if len(m.held) > 0 {
			return m.resize(m.held[s.A%len(m.held)], s.B)
		}
	case "cancel":
		if len(m.asks) > 0 {
			m.asks[s.A%len(m.asks)].cancel()
		}
	case "sleep":
		time.Sleep(time.Duration(s.B) * 50 * time.Millisecond)
	case "set":
		return m.set(s)
	default:
		return m.changeMachine(s)
	}
	return m.compare()
}

// changeMachine changes a machine of the pool and of the model.
func (m *model) changeMachine(s step) error {
	name := fmt.Sprint("m", s.A%len(m.machines))
	at := m.machines[name]
	capacity := v(int64(s.B%8), int64(s.B%8))
	switch s.Call {
	case "add":
		name = fmt.Sprint("m", len(m.machines))
		if len(m.machines) == 6 {
			return nil
		}
		m.machines[name] = &modelMachine{capacity: capacity}
		if _, err := m.pool.AddMachine(omega.Machine{Name: name, Capacity: capacity}); err != nil {
			return err
		}
	case "drain":
		err := m.pool.DrainMachine(name, s.B%2 == 0)
		if (err != nil) != at.gone {
			return fmt.Errorf("drain %s: %w", name, err)
		}
		at.draining = s.B%2 == 0
	case "resize machine":
		if at.gone {
			return nil
		}
		at.capacity = capacity
		if err := m.pool.ResizeMachine(name, capacity); err != nil {
			return err
		}
	case "remove":
		if at.gone {
			return nil
		}
		if err := m.pool.RemoveMachine(name); (err == nil) != (at.leases == 0) {
			return fmt.Errorf("remove %s with %d leases: %w", name, at.leases, err)
		}
		at.gone = at.leases == 0
	}
	return m.compare()
}

// set changes the settings of a tenant or group.
func (m *model) set(s step) error {
	n := m.all[s.A%len(m.all)]
	set := pool.Settings{Weight: float64(1 + s.B%5), Strict: s.B%3 == 0}
	if s.C%3 == 0 {
		set.Limit, set.Limited = v(int64(s.C/3%6), int64(s.C/3%6)), true
	}
	if s.C%4 == 0 && n.rated {
		set.Rate, set.Burst = float64(1+s.B%4), 1+s.C%3
	}
	if s.C%5 == 0 {
		set.Priority = s.B % 3
	}
	if s.C%7 == 0 {
		set.Queue = 1 + s.B%4
	}
	m.tick()
	n.limit, n.limited, n.queue, n.strict = set.Limit, set.Limited, set.Queue, set.Strict
	n.setRate(set.Rate, set.Burst)
	if err := n.handle.Set(set); err != nil {
		return err
	}
	return m.compare()
}

// resize shrinks a lease.
func (m *model) resize(l pool.Lease, by int) error {
	was := l.Need()
	less := was
	less[0] = max(0, less[0]-int64(1+by%3))
	if less == (resources.Vector{}) || less == was {
		return nil
	}
	at, n := m.machines[l.Machine()], m.byName[l.Tenant().Name()]
	at.held = sub(at.held, sub(was, less))
	for ; n != nil; n = n.parent {
		n.held = sub(n.held, sub(was, less))
	}
	if err := l.Resize(less); err != nil {
		return err
	}
	return m.compare()
}

// sum is without the saturation and the checks of the vector's own.
func sum(a, b resources.Vector) resources.Vector {
	for k := range a {
		a[k] += b[k]
	}
	return a
}

func sub(a, b resources.Vector) resources.Vector {
	for k := range a {
		a[k] -= b[k]
	}
	return a
}

func TestModel_NoticesAnEventTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		m := newModel(t, p, []int64{1}) // the model has less than the pool
		l := acquire(t, p, "a", 2)
		require.ErrorContains(t, m.compare(), "more than its capacity")
		release(t, l)
		m.events.Close()
	})
}
