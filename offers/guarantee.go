package offers

import (
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// guaranteed returns what all frameworks but one are guaranteed together.
func (m *Master) guaranteed(but *member) (sum resources.Vector) {
	for _, f := range m.registry.order {
		if f != but {
			sum = sum.Add(f.reg.Guaranteed)
		}
	}
	return sum
}

// checkGuarantee says of which kind the cell has not what a registration wants to be
// guaranteed beside others, who may be about to be guaranteed more. A framework that
// was there keeps what it had, though machines may have gone. What one had that an
// earlier master has left behind only it can tell.
func (m *Master) checkGuarantee(f *member, r *Registration, more *resources.Vector) error {
	if f != nil && f.sched == nil {
		return nil
	}
	all := m.guaranteed(f).Add(r.Guaranteed)
	for k, q := range r.Guaranteed {
		all[k] += more[k]
		if q == 0 || f != nil && q <= f.reg.Guaranteed[k] || all[k] <= m.total[k] {
			continue
		}
		var promised, total resources.Vector // of this kind
		promised[k], total[k] = all[k], m.total[k]
		return fmt.Errorf("%w: framework %q: %s with what others are guaranteed, %s in the cell",
			ErrGuarantee, r.Name, m.format(promised), m.format(total))
	}
	return nil
}

// shortfall tells the frameworks that are guaranteed something of it what the cell
// has come to have too little of to keep all guarantees, or enough again.
func (m *Master) shortfall() {
	var short resources.Vector
	for k, q := range m.guaranteed(nil) {
		short[k] = max(0, q-m.total[k])
	}
	for _, f := range m.registry.order {
		var of resources.Vector
		for k, q := range f.reg.Guaranteed {
			if q > 0 {
				of[k] = short[k]
			}
		}
		if of != f.short && f.connected {
			told := of // to leave the heap alone where there is nothing to tell
			f.short, f.news.Short = of, &told
			m.tell(f)
		}
	}
}

// covers returns what a framework asks for, with a request and others before it that
// revoke, and whether that is within its guarantee beside what it runs and is offered,
// of all kinds that the request is for.
func (m *Master) covers(f *member, r *Request) (asks resources.Vector, ok bool) {
	asks = r.total()
	for _, other := range m.requests {
		if &other.Request == r {
			break
		}
		if other.of == f && other.Revoke && !other.overdue(m.now) {
			asks = asks.Add(other.total())
		}
	}
	most := f.runs().Add(f.offered).Add(asks)
	for k, q := range r.Each {
		if q > 0 && most[k] > f.reg.Guaranteed[k] {
			return asks, false
		}
	}
	return asks, true
}

// beyond says what a framework would hold that asks for so much, and what it is
// guaranteed.
func (m *Master) beyond(f *member, asks resources.Vector) error {
	runs := f.runs()
	return fmt.Errorf("%w: framework %q would hold %s, of which it runs %s, is offered %s and asks for %s: it is guaranteed %s",
		ErrExceeds, f.name, m.format(runs.Add(f.offered).Add(asks)),
		m.format(runs), m.format(f.offered), m.format(asks), m.format(f.reg.Guaranteed))
}

// runs returns what the tasks of a framework hold. Those of an accept on the way do not count
// yet: they are offered to it.
func (f *member) runs() resources.Vector {
	if f.accept != nil && f.reg.Guaranteed != (resources.Vector{}) {
		return f.accept.usage
	}
	return f.sched.Usage()
}

// spares tells whether a framework has what it is guaranteed, of all kinds that
// the last task holds, when it has lost so much. Its own tasks count, whoever else
// charges its account.
func (f *member) spares(lost, last resources.Vector) bool {
	left, ok := f.sched.Usage().Sub(lost)
	if !ok {
		return false
	}
	for k, q := range last {
		if q > 0 && left[k] < f.reg.Guaranteed[k] {
			return false
		}
	}
	return true
}
