package pool

import (
	"fmt"
	"iter"
	"math/bits"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// tenantBook are the tenants and groups of a pool, by name, and their order.
type tenantBook struct {
	*core
	pool *Pool

	fair       *drf.FairQueue
	byName     map[string]*Tenant
	byUser     []*Tenant   // by index of the user in fair
	sweepAt    int         // number of tenants at which settled ones are forgotten
	forgotten  uint64      // tenants so far
	past       TenantStats // their counts
	guaranteed []*Tenant
	ranked     bool // a tenant has or had a class, or a request a priority, but 0
}

// all walks the tenants and groups. Called with mu held; the body may not make or
// forget tenants.
func (tb *tenantBook) all() iter.Seq[*Tenant] {
	return func(yield func(*Tenant) bool) {
		for _, t := range tb.byUser {
			if t != nil && !yield(t) {
				return
			}
		}
	}
}

// lookUp returns the tenant of a name below a group, the root for nil, or nil. The
// names of the groups in between come first, separated by slashes.
func (tb *tenantBook) lookUp(parent *Tenant, name string) *Tenant {
	siblings := tb.siblings(parent)
	if t := siblings[name]; t != nil {
		return t
	}
	for group, rest := range groupsIn(siblings, name) {
		if t := tb.lookUp(group, rest); t != nil {
			return t
		}
	}
	return nil
}

func (tb *tenantBook) siblings(parent *Tenant) map[string]*Tenant {
	if parent == nil {
		return tb.byName
	}
	return parent.children
}

// groupsIn walks the groups that a name may begin with, and the rest of the name.
func groupsIn(siblings map[string]*Tenant, name string) iter.Seq2[*Tenant, string] {
	return func(yield func(*Tenant, string) bool) {
		for i := range len(name) {
			if name[i] != '/' {
				continue
			}
			if g := siblings[name[:i]]; g != nil && g.children != nil && !yield(g, name[i+1:]) {
				return
			}
		}
	}
}

// checkName refuses a name that is invalid, that begins with a group, or that makes a
// whole name that another tenant has.
func (tb *tenantBook) checkName(parent *Tenant, name string) error {
	if err := resources.CheckName(name); err != nil {
		return because(ErrTenant, "tenant", err)
	}
	for group := range groupsIn(tb.siblings(parent), name) {
		return refuse(ErrTenant, fmt.Sprintf("tenant %q: group %q has no tenant of that name", name, group.name))
	}
	if parent != nil && tb.lookUp(nil, parent.name+"/"+name) != nil {
		return refuse(ErrTenant, fmt.Sprintf("tenant %q in %q: another tenant has the name %q", name, parent.name, parent.name+"/"+name))
	}
	return nil
}

// sweepMin is how many tenants are remembered at least, idle ones included.
const sweepMin = 1024

// newTenant makes a tenant with the settings that are given, or zero ones. Called
// with mu held.
func (tb *tenantBook) add(parent *Tenant, name string, settings ...Settings) (*Tenant, error) {
	if err := tb.checkName(parent, name); err != nil {
		return nil, err
	}
	tb.sweep()
	t := &Tenant{pool: tb.pool, name: name, parent: parent, set: Settings{Weight: 1}}
	var group drf.User
	if parent != nil {
		if parent.leases > 0 || parent.queued > 0 {
			return nil, refuse(ErrTenant, fmt.Sprintf("tenant %q in %q: the group has %d leases and %d waiters of its own, want none",
				name, parent.name, parent.leases, parent.queued))
		}
		group, t.name, t.bounded = parent.user, parent.name+"/"+name, parent.bounded
	}
	for i := range settings {
		if err := t.check(&settings[i]); err != nil {
			return nil, err
		}
	}
	var err error
	if t.user, err = tb.fair.Add(group, 1); err != nil {
		return nil, because(ErrTenant, fmt.Sprintf("tenant %q", name), err)
	}
	if parent != nil {
		if parent.children == nil {
			parent.children = make(map[string]*Tenant)
		}
		parent.children[name] = t
	} else {
		tb.byName[name] = t
	}
	for t.user.Index() >= len(tb.byUser) {
		tb.byUser = append(tb.byUser, nil)
	}
	tb.byUser[t.user.Index()] = t
	for _, s := range settings {
		_ = t.apply(s) // they were checked
	}
	return t, nil
}

// forget removes a tenant that holds nothing and does not wait.
func (tb *tenantBook) forget(t *Tenant) {
	last := t.stats()
	if tb.fair.Remove(t.user) != nil {
		return
	}
	tb.past.add(&last)
	tb.forgotten++
	tb.byUser[t.user.Index()] = nil
	if t.parent != nil {
		delete(t.parent.children, t.name[len(t.parent.name)+1:])
	} else {
		delete(tb.byName, t.name)
	}
}

// remembered returns the states of tenants that were not forgotten since. All[i] is the
// state of of[i].
func (tb *tenantBook) remembered(all []TenantStats, of []*Tenant) ([]TenantStats, []*Tenant) {
	n := 0
	for i, t := range of {
		if tb.byUser[t.user.Index()] == t {
			all[n], of[n] = all[i], t
			n++
		}
	}
	return all[:n], of[:n]
}

// sweep forgets the tenants that are settled once there are twice as many as the
// last sweep left, so that names that are used once do not add up. While tenants
// wait, one that is ahead of its share is remembered.
func (tb *tenantBook) sweep() {
	if len(tb.byName) < tb.sweepAt {
		return
	}
	tb.tick()
	for _, t := range tb.byName {
		if t.forgettable() {
			tb.forget(t)
		}
	}
	tb.sweepAt = max(sweepMin, 2*len(tb.byName))
}

// await passes the least need of t's requests to the order. Called with mu held.
func (tb *tenantBook) await(t *Tenant) {
	w := t.first
	if tb.replicas != nil {
		tb.replicas.note(t)
		if w == nil && t.far.waits {
			_ = tb.fair.Wait(t.user, t.far.need, tb.at) // others in the order compete with it
			return
		}
	}
	if w == nil {
		_ = tb.fair.Park(t.user, tb.at)
		return
	}
	least := &t.least
	if t.set.Strict {
		least = w.least()
	}
	_ = tb.fair.Wait(t.user, *least, tb.at) // check has refused each need that Wait refuses
}

// shareOf returns the dominant share that a tenant holds, by weight.
func (tb *tenantBook) shareOf(t *Tenant) float64 {
	held := tb.fair.Held(t.user)
	share, _, _ := held.DominantShare(tb.books.total)
	return share / t.set.Weight
}

// scale sets what each guarantee is worth now, while there is no index. Where machines that take new leases have
// less of a kind than all guarantees add up to, each gets less of it, in proportion.
// Cost: O(tenants + machines) if there are guarantees.
func (tb *tenantBook) scale() {
	if len(tb.guaranteed) == 0 {
		return
	}
	sum, have := promised(tb.byName, nil), resources.Vector{}
	for i := range tb.books.machines {
		if m := &tb.books.machines[i]; !m.draining { // one that is gone has nothing
			have = have.Add(m.capacity)
		}
	}
	for _, t := range tb.guaranteed {
		worth := t.set.Guarantee
		for k, q := range worth {
			if sum[k] > have[k] {
				hi, lo := bits.Mul64(uint64(q), uint64(have[k]))
				quotient, _ := bits.Div64(hi, lo, uint64(sum[k]))
				worth[k] = int64(quotient)
			}
		}
		if worth != t.guarantee {
			t.guarantee = worth
			_ = tb.fair.SetGuarantee(t.user, worth) // less than one that was checked
		}
	}
}

// promised returns what the guarantees of tenants and groups add up to, all but
// one. A group without a guarantee counts what is promised in it.
func promised(tenants map[string]*Tenant, but *Tenant) (sum resources.Vector) {
	for _, t := range tenants {
		if t != but {
			least := t.guaranteed()
			sum = addUp(&sum, &least)
		}
	}
	return sum
}

// addUp returns a sum, or one more than the largest amount of any kind: unlike the sum
// of [resources.Vector.Add], it is then more than there is.
func addUp(a, b *resources.Vector) (sum resources.Vector) {
	for k := range sum {
		sum[k] = min(a[k], resources.MaxQuantity+1-b[k]) + b[k]
	}
	return sum
}

// maxLooked bounds the tenants that an estimate looks at.
const maxLooked = 64

// around walks t and the tenants after it, maxLooked at most.
func (tb *tenantBook) around(t *Tenant) iter.Seq[*Tenant] {
	return func(yield func(*Tenant) bool) {
		if !yield(t) {
			return
		}
		n := len(tb.byUser)
		for i := 1; i < min(n, maxLooked); i++ {
			if o := tb.byUser[(t.user.Index()+i)%n]; o != nil && !yield(o) {
				return
			}
		}
	}
}
