package simulate

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// offerTime is the time that the master takes for an offer, all that it makes at one
// time together: Omega paper, section 4.2.
const offerTime = time.Millisecond

// master is the [offers.Master] of a two-level architecture in the simulation: it
// decides in the event that gives it cause to, and frameworks hear of it offerTime
// later.
type master struct {
	*offers.Master
	sim        *simulation
	frameworks []*framework
	told       []*framework  // frameworks with news, in the order in which they were told
	dueAt      time.Duration // of the event that steps it; never if there is none
}

// offer has all schedulers take part as frameworks.
func (s *simulation) offer() error {
	cfg := *s.cfg.Architecture.Offers
	if cfg.Liveness == (offers.Span{}) {
		cfg.Liveness = offers.Never() // frameworks of a run do not vanish
	}
	of, err := offers.New(s.cell, cfg, s.clock())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	s.master = &master{Master: of, sim: s, dueAt: never}
	for i := range s.cfg.Architecture.Schedulers {
		f, err := newFramework(s, i)
		if err != nil {
			return err
		}
		s.master.frameworks = append(s.master.frameworks, f)
		s.deciders = append(s.deciders, f)
	}
	s.master.follow()
	return nil
}

// step has the master do the work that is due.
func (m *master) step() error {
	if m.sim.now != m.dueAt {
		return nil // another event is to step it
	}
	m.dueAt = never
	return m.Step(m.sim.clock())
}

// follow handles the effects of an event. Frameworks with news hear of it, locked room
// is counted, and the master is stepped when it wants to be.
func (m *master) follow() {
	for _, f := range m.told {
		m.sim.queue.Push(m.sim.now+offerTime, event{hear, f.number})
	}
	m.told = m.told[:0]
	for _, f := range m.frameworks {
		_, f.locked.now = f.handle.Held()
	}
	if next, ok := m.Next(); ok {
		at := max(time.Duration(next.UnixNano()), m.sim.now)
		// A timer beyond all time, such as to ask a framework that it does not expect to
		// call, is nothing that is left to be done.
		if at <= m.sim.cfg.until() && (m.dueAt == never || at < m.dueAt) {
			m.dueAt = at
			m.sim.queue.Push(at, event{due, 0})
		}
	}
}

// integrate counts for how long the locked room was locked.
func (m *master) integrate() {
	for _, f := range m.frameworks {
		f.locked.integrate(m.sim.now)
	}
}

// checkEnd verifies that no framework holds anything.
func (m *master) checkEnd() error {
	for _, f := range m.frameworks {
		if held, offered := f.handle.Held(); held != (resources.Vector{}) || offered != (resources.Vector{}) {
			return fmt.Errorf("simulate: after the run the master charges framework %q for %v, of which %v is offered: want nothing",
				f.spec.Name, held, offered)
		}
	}
	return nil
}
