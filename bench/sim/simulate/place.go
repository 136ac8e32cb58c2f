package simulate

import (
	"math/rand/v2"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

// Placement is how a scheduler picks machines.
type Placement uint8

const (
	// RandomFit puts each task on any machine with room, all equally likely, as
	// Google's simulator does: it draws machines and, for this job, does not
	// look again at one that had no room.
	RandomFit Placement = iota
	// NextFit is [omega.NextFit]: a machine is filled before the next.
	NextFit
	// BestOfTwo is [omega.BestOf] two by best fit.
	BestOfTwo
)

// place returns what the loop places with; nil for the policy alone.
func (p Placement) place(machines int, r *rand.Rand) (loop.Place[int], omega.Policy) {
	switch p {
	case NextFit:
		return nil, omega.NextFit()
	case BestOfTwo:
		return nil, omega.BestOf(2, nil, r)
	}
	return newDraw(machines, r).place, omega.Policy{}
}

// draw draws machines at random without going back to those that were of no
// use. The nodes are a permutation of all: those behind left are out.
type draw struct {
	nodes []locality.Node
	left  int
	rand  *rand.Rand
	among func(yield func(locality.Node) bool)
}

func newDraw(machines int, r *rand.Rand) *draw {
	d := &draw{nodes: make([]locality.Node, machines), rand: r}
	for i := range d.nodes {
		d.nodes[i] = locality.Node(i)
	}
	d.among = d.walk
	return d
}

// walk goes on until the one that is drawn is taken.
func (d *draw) walk(yield func(locality.Node) bool) {
	for d.left > 0 {
		i := d.rand.IntN(d.left)
		if !yield(d.nodes[i]) {
			return
		}
		d.left--
		d.nodes[i], d.nodes[d.left] = d.nodes[d.left], d.nodes[i]
	}
}

func (d *draw) place(snap *omega.Snapshot, job *loop.Job[int], k int, tx *omega.Txn) {
	d.left = len(d.nodes)
	q := job.Query()
	q.Among = d.among
	claim := job.Claim(0)
	for range k {
		m, ok := snap.Find(q, omega.NextFit())
		if !ok || !snap.Take(m, job.Need) {
			return
		}
		claim.Machine = m
		tx.Claim(claim)
	}
}
