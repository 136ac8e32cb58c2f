package quincy

// numbered maps numbers of the caller's choice to values: in a slice where numbers
// are dense, as most are, otherwise in a map. The zero V is an absent value. The
// slice grows to 8 places for each present number, and 64, at most.
//
// A planner looks up a dozen machines and racks for each task that it asks for its
// arcs. In maps that would take a third of the time to add a task.
type numbered[K ~uint32, V comparable] struct {
	near []V
	far  map[K]V
	n    int
}

func (m *numbered[K, V]) get(k K) V {
	var zero V
	if int64(k) < int64(len(m.near)) {
		if v := m.near[k]; v != zero || len(m.far) == 0 {
			return v
		}
	}
	return m.far[k]
}

// set maps k to v, or removes k if v is zero.
func (m *numbered[K, V]) set(k K, v V) {
	var zero V
	if m.get(k) != zero {
		m.n--
	}
	delete(m.far, k)
	if v != zero {
		m.n++
		if more := int64(k) + 1 - int64(len(m.near)); more > 0 && int64(k) < 8*int64(m.n)+64 {
			m.near = append(m.near, make([]V, more)...)
		}
	}
	switch {
	case int64(k) < int64(len(m.near)):
		m.near[k] = v
	case v == zero:
	case m.far == nil:
		m.far = map[K]V{k: v}
	default:
		m.far[k] = v
	}
}
