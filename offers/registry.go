package offers

import (
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// registry holds the frameworks that the master knows, including frameworks that are
// away.
type registry struct {
	*client
	members  map[string]*member
	order    []*member  // as they registered
	requests []*request // that are not answered, as they came
	last     uint64     // number of the framework, role or request that came last
}

func newRegistry(c *client) *registry {
	return &registry{client: c, members: make(map[string]*member)}
}

// ownerOf returns the framework that an allocation is a task of, or nil.
func (rg *registry) ownerOf(a *omega.Allocation) *member {
	name, of := strings.CutPrefix(a.Scheduler, rg.cfg.Name+"/")
	if !of {
		return nil
	}
	return rg.members[name]
}

// guaranteed returns the sum of the guarantees of all frameworks but one.
func (rg *registry) guaranteed(but *member) (sum resources.Vector) {
	for _, f := range rg.order {
		if f != but {
			sum = sum.Add(f.reg.Guaranteed)
		}
	}
	return sum
}

// checkGuarantee returns an error for a guarantee that exceeds the cell together with
// those of other frameworks, which may be about to be guaranteed more.
func (rg *registry) checkGuarantee(f *member, r *Registration, more *resources.Vector) error {
	// Only a framework that an earlier master has left behind knows what it was guaranteed.
	if f != nil && f.sched == nil {
		return nil
	}
	all := rg.guaranteed(f).Add(r.Guaranteed)
	for k, q := range r.Guaranteed {
		all[k] += more[k]
		// A framework that was there keeps its guarantee, though machines may have gone.
		if q == 0 || f != nil && q <= f.reg.Guaranteed[k] || all[k] <= rg.total[k] {
			continue
		}
		var promised, total resources.Vector // of this kind
		promised[k], total[k] = all[k], rg.total[k]
		return fmt.Errorf("%w: framework %q: %s with what others are guaranteed, %s in the cell",
			ErrGuarantee, r.Name, rg.format(promised), rg.format(total))
	}
	return nil
}
