package offers

// add puts n at the end.
func (l *idle) add(n *node) {
	if n.idle == 0 {
		l.live++
	}
	l.last++
	n.idle = l.last
	l.entries = append(l.entries, idler{n, l.last})
	if len(l.entries) > 2*l.live+64 {
		kept := l.entries[:0]
		for _, e := range l.entries {
			if e.node.idle == e.seq {
				kept = append(kept, e)
			}
		}
		clear(l.entries[len(kept):])
		l.entries = kept
	}
}

// remove takes n out, if it is in.
func (l *idle) remove(n *node) {
	if n.idle != 0 {
		n.idle = 0
		l.live--
	}
}
