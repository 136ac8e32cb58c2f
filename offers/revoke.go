package offers

import (
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// highest is the precedence of claims for what is guaranteed.
const highest = omega.Precedence(math.MaxInt32)

// Notice says that a task is to be preempted. A framework that ends it before,
// and says so by [Framework.Release], decides itself how. It may not come to that,
// if the request ends for which it was to make room.
type Notice struct {
	Task  omega.Allocation
	Until time.Time
}

// plan is a revocation that has begun: what is to become free on which machines,
// and who was told to leave them. Nobody else is offered room there meanwhile.
type plan struct {
	of      *request
	nodes   []*node
	victims [][]omega.AllocationID // by node
	timer   timer
}

// revoke begins what requests may take from others and there is no room for.
func (m *Master) revoke() {
	for _, r := range m.requests {
		if !r.Revoke || r.plan != nil {
			continue
		}
		nodes, victims := m.choosePrey(r)
		if nodes == nil {
			continue
		}
		p := &plan{of: r, nodes: nodes, victims: make([][]omega.AllocationID, len(nodes))}
		r.plan = p
		until := m.now.Add(m.cfg.Grace.or(DefaultGrace))
		for i, n := range nodes {
			n.kept = p
			m.idle.remove(n)
			for k := 0; k < len(n.offers); {
				if n.offers[k].to == r.of {
					k++
					continue
				}
				m.rescind(n.offers[k], rescinded) // the next one takes its place
			}
			for _, v := range victims[i] {
				p.victims[i] = append(p.victims[i], v.task.ID)
				v.of.news.Revoked = append(v.of.news.Revoked, Notice{v.task, until})
				v.of.tell(m)
			}
		}
		m.timers.start(&p.timer, until, p)
	}
}

// vacated tells whether all have left before they had to.
func (m *Master) vacated(r *request) bool {
	for _, n := range r.plan.nodes {
		st, ok := m.cell.State(n.id)
		if !ok || st.Condition != omega.Ready || !r.Each.Fits(st.Free) {
			return false
		}
	}
	return true
}

// expire is called when the grace is over: who is still there is preempted, by
// the claim that takes its place. Where that fails, since others were faster or
// a machine has gone, it begins anew.
func (p *plan) expire(m *Master) {
	victims := make([][]omega.AllocationID, len(p.nodes))
	for i, n := range p.nodes {
		st, ok := m.cell.State(n.id)
		if !ok {
			break
		}
		free := st.Free
		for _, a := range m.cell.AllocationsOn(n.id) {
			if !p.of.Each.Fits(free) && slices.Contains(p.victims[i], a.ID) {
				victims[i] = append(victims[i], a.ID)
				free = free.Add(a.Need)
			}
		}
	}
	if !m.grant(p.of, p.nodes, victims) {
		m.abandon(p.of)
		m.revoke()
	}
}

// abandon ends a revocation: the machines are anybody's again.
func (m *Master) abandon(r *request) {
	if r.plan == nil {
		return
	}
	m.timers.stop(&r.plan.timer)
	for _, n := range r.plan.nodes {
		if n.kept == r.plan {
			n.kept = nil
			m.soil(n)
		}
	}
	r.plan = nil
}
