package pool

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Request is a request to a pool for a tenant, made in one call.
type Request struct {
	// Needs are taken together or not at all, each on one machine. While the
	// request waits it holds nothing, so two of them never block each other.
	Needs []resources.Vector
	// Prefer are machines near which the needs should be placed. The pool's
	// Delay says how long the request waits for them.
	Prefer []locality.Node
	// Required takes no machine but those of Prefer.
	Required bool
	// Priority goes before lower ones within the tenant.
	Priority int
	// MaxWait bounds the wait, which then fails with [ErrWait]. A shorter bound of
	// the tenant holds, too. 0 means that bound alone.
	MaxWait time.Duration
	// Label is shown with the request in [Pool.Waiters]. It is empty, or a name as
	// [resources.CheckName] has it.
	Label string
}

// check refuses a request that can never be granted. Called with mu held.
func (p *Pool) check(t *Tenant, r *Request) error {
	if len(r.Needs) == 0 {
		return refuse(ErrNeed, fmt.Sprintf("request of %q without a need", t.name))
	}
	if r.MaxWait < 0 {
		return refuse(ErrConfig, fmt.Sprintf("request of %q: maximum wait %v, want 0 or more", t.name, r.MaxWait))
	}
	for _, n := range r.Prefer {
		if int(n) >= len(p.books.machines) {
			return refuse(ErrMachine, fmt.Sprintf("request of %q: preferred node %d, want less than %d", t.name, n, len(p.books.machines)))
		}
	}
	if r.Priority < math.MinInt32 || r.Priority > math.MaxInt32 {
		return refuse(ErrConfig, fmt.Sprintf("request of %q: priority %d, want 32 bits", t.name, r.Priority))
	}
	if r.Label != "" {
		if err := resources.CheckName(r.Label); err != nil {
			return because(ErrConfig, fmt.Sprintf("request of %q: label", t.name), err)
		}
	}
	if r.Required && len(r.Prefer) == 0 {
		return refuse(ErrMachine, fmt.Sprintf("request of %q: no preferred machine, but one is required", t.name))
	}
	for i := range r.Needs {
		if err := p.checkNeed(t, &r.Needs[i]); err != nil {
			return err
		}
	}
	return nil
}

// tooLarge is the refusal of a request that does not fit into an empty pool.
func (p *Pool) tooLarge(t *Tenant, r *Request) error {
	if len(r.Needs) == 1 {
		return refuse(ErrNeed, fmt.Sprintf("request of %q: %s, no preferred machine has as much even if it is empty", t.name, p.formatAll(r.Needs)))
	}
	return refuse(ErrNeed, fmt.Sprintf("request of %q: %s do not fit together even if all machines are empty", t.name, p.formatAll(r.Needs)))
}

// checkNeed refuses a need that can never be granted.
func (p *Pool) checkNeed(t *Tenant, need *resources.Vector) error {
	switch err := need.Check(); {
	case err != nil:
		return refuse(resources.ErrQuantity, fmt.Sprintf("need of %q: %s, want 0 to 2^62 of each kind", t.name, p.space.Format(*need)))
	case *need == resources.Vector{}:
		return refuse(ErrNeed, fmt.Sprintf("need of %q: nothing, want some of at least one kind", t.name))
	case !p.books.ever(need) && (p.lend == nil || !p.lend.ever(need)):
		return refuse(ErrNeed, fmt.Sprintf("need of %q: %s, no machine has as much even if it is empty", t.name, p.space.Format(*need)))
	}
	if g := t.tooLow(need); g != nil {
		return refuse(ErrNeed, fmt.Sprintf("need of %q: %s, more than the limit %s of %q",
			t.name, p.space.Format(*need), p.formatLimit(g.set.Limit), g.name))
	}
	return nil
}

// prepare makes a waiter for a request. Called with mu held.
func (p *Pool) prepare(ctx context.Context, t *Tenant, r *Request) (*waiter, error) {
	if err := p.check(t, r); err != nil {
		need := r.sum()
		return nil, t.neverMet(&need, err)
	}
	w, err := p.admit(ctx, t, &r.Needs[0])
	if err != nil {
		return nil, err
	}
	w.priority = int32(r.Priority)
	if len(r.Needs) == 1 && len(r.Prefer) == 0 && r.MaxWait == 0 && r.Label == "" {
		return w, nil
	}
	if w.extra == nil {
		w.extra = new(extra)
	}
	w.extra.most, w.extra.label = r.MaxWait, r.Label
	if len(r.Prefer) > 0 {
		n := &near{prefer: append([]locality.Node(nil), r.Prefer...), required: r.Required}
		n.job, _ = delay.New(p.policy) // New has checked the policy
		w.extra.near = n
	}
	if len(r.Needs) > 1 {
		g := &gang{needs: append([]resources.Vector(nil), r.Needs...), least: r.Needs[0]}
		for i := range r.Needs[1:] { // limits count them together
			w.need = w.need.Add(r.Needs[i+1])
			lower(&g.least, &r.Needs[i+1])
		}
		w.extra.many = g
		if low := t.tooLow(&w.need); low != nil {
			return nil, p.discard(w, refuse(ErrNeed, fmt.Sprintf("request of %q: %s together exceed the limit %s of %q",
				t.name, p.formatAll(r.Needs), p.formatLimit(low.set.Limit), low.name)))
		}
	}
	if w.extra.near != nil || w.extra.many != nil {
		nodes := p.empty(w)
		if nodes == nil {
			return nil, p.discard(w, p.tooLarge(t, r))
		}
		if err := p.checkNestedAll(w); err != nil {
			return nil, p.discard(w, err)
		}
		if w.extra.near != nil {
			w.extra.near.best = p.farthest(w, nodes)
		}
	}
	return w, nil
}

// discard takes back a waiter of a request that can never be granted, and returns why.
func (p *Pool) discard(w *waiter, err error) error {
	err = w.tenant.neverMet(&w.need, err)
	p.recycle(w)
	return err
}

// sum returns the needs together.
func (r *Request) sum() (need resources.Vector) {
	for i := range r.Needs {
		need = need.Add(r.Needs[i])
	}
	return need
}
