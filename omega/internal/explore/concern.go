//go:build explore

package explore

// pending is an operation before which the running thread could be preempted.
type pending struct {
	object any
	// always says that it concerns the others whatever they do: it may wait, or is the
	// first of an operation of the history, where the place in time counts.
	always bool
}

// touch records the operations of threads on an object.
type touch struct {
	by              *thread // the first
	shared, changed bool    // there are others; one of them did more than load
}

func (r *Run) touch(t *thread) {
	at := r.touched[t.object]
	if at == nil {
		at = &touch{by: t}
		r.touched[t.object] = at
	}
	at.shared = at.shared || at.by != t
	at.changed = at.changed || t.op != "load"
}

// learn notes which of the operations that were pending in a run concern other
// threads: those on an object that several threads touch, not all of them by
// loads.
func (x *explorer) learn(r *Run) {
	for i, p := range r.pending {
		if d := &x.path[i]; d.preempts && !d.concerns {
			at := r.touched[p.object]
			d.concerns = p.always || at != nil && at.shared && at.changed
		}
	}
}
