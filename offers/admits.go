package offers

import (
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// Admits reports whether several frameworks could be registered one after the other. It
// returns the error that [Master.Register] would return for the first that could not. It
// changes nothing, so the answer holds until another framework registers.
//
// Cost: O(frameworks) for each. Errors: those of Register, except [omega.ErrTooMany]; and
// [ErrConfig] for a framework that is named twice.
func (m *Master) Admits(frameworks ...Registration) error {
	if err := m.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.superseded() {
		return m.fenced
	}
	named := make(map[string]bool, len(frameworks))
	var more resources.Vector // that those before are guaranteed than now
	for _, r := range frameworks {
		r.complete()
		if err := r.check(m.cfg.Name); err != nil {
			return err
		}
		if named[r.Name] {
			return fmt.Errorf("%w: framework %q is named twice", errName, r.Name)
		}
		named[r.Name] = true
		f := m.registry.members[r.Name]
		if err := m.sessions.acceptable(f, &r, &more); err != nil {
			return err
		}
		for k, q := range r.Guaranteed {
			if more[k] += q; f != nil {
				more[k] -= f.reg.Guaranteed[k]
			}
		}
	}
	return nil
}
