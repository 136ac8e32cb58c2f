package slots

// Below returns the leaf to which a unit of the task t goes, after Solve gave t a place.
// If t sits at a leaf, it is that one. If t sits at a group, it is a leaf below that the
// group sends units to. It is prefer if it can be.
func (n *Net) Below(t int32, prefer Loc) Loc {
	v := n.cur[t].at
	if n.flowsDown(v, prefer) {
		return prefer
	}
	return n.leafBelow(v)
}

// leafBelow returns v, or where v is a group, a leaf below that it sends units to.
func (n *Net) leafBelow(v Loc) Loc {
	for !n.locs[v].leaf {
		next := n.activeKid(v)
		if next == none {
			break // not in a solved net: what sits at a group goes down
		}
		v = next
	}
	return v
}

// flowsDown reports whether units go from v down to leaf.
func (n *Net) flowsDown(v, leaf Loc) bool {
	for ; leaf != none && leaf != Sink; leaf = n.locs[leaf].parent {
		if leaf == v {
			return true
		}
		if n.locs[leaf].down == 0 {
			return false
		}
	}
	return false
}

// activeKid returns a kid that v sends units to.
func (n *Net) activeKid(v Loc) Loc {
	l := &n.locs[v]
	kids := n.kids[v]
	for i := range kids {
		at := (int(l.kid) + i) % len(kids)
		if k := kids[at]; n.locs[k].down > 0 {
			l.kid = int32(at)
			return k
		}
	}
	return none
}

// ReplaceAt replaces the options of t, as SetOptions does. Leaf is one to which [Net.Below]
// says that t goes. If there is an option at leaf, t sits there from now on, with the
// unit that the group had sent down for it.
func (n *Net) ReplaceAt(t int32, leaf Loc, options []Option) {
	group := n.cur[t].at
	if group == leaf || !n.locs[leaf].leaf {
		n.SetOptions(t, options)
		return
	}
	for _, o := range options {
		if o.At != leaf {
			continue
		}
		n.replace(t, options)
		n.leave(t)
		for v := leaf; v != group; v = n.locs[v].parent {
			n.move(step{v, n.locs[v].parent, none, 0})
		}
		n.place(t, leaf, o.Base+int64(o.Slope)*n.now)
		n.recheck(t)
		return
	}
	n.SetOptions(t, options)
}

// Touched returns the tasks that sat down anywhere since Forget, some more than
// once. The slice is the net's own and changes with it.
func (n *Net) Touched() []int32 { return n.touched }

// Forget empties what Touched returns.
func (n *Net) Forget() { n.touched = n.touched[:0] }
