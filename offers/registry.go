package offers

import (
	"strings"

	"github.com/cellsched/cellsched/omega"
)

// registry holds the frameworks that the master knows, also those that are away.
type registry struct {
	*client
	members map[string]*member
	order   []*member // as they registered
	last    uint64    // number of the framework, role or request that came last
}

func newRegistry(c *client) *registry {
	return &registry{client: c, members: make(map[string]*member)}
}

// ownerOf returns the framework whose task an allocation is, or nil.
func (r *registry) ownerOf(a *omega.Allocation) *member {
	name, of := strings.CutPrefix(a.Scheduler, r.cfg.Name+"/")
	if !of {
		return nil
	}
	return r.members[name]
}
