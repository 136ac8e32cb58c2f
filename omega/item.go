package omega

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// verdict is the result of an item.
type verdict uint8

const (
	pending verdict = iota
	done            // the claim is granted, the release has happened
	conflict
	changed
	draining
	removed
	full
	limited
	jobless
	forbidden    // the machine
	notPermitted // the precedence
	gangRefused
	notLive
	notOwner
	notLower
	superseded
)

var reasons = [...]error{
	conflict: ErrConflict, changed: ErrConflict, draining: ErrDraining, removed: ErrRemoved, full: ErrFull,
	limited: ErrLimit, jobless: ErrLimit, forbidden: ErrForbidden, notPermitted: ErrForbidden, gangRefused: ErrGang, notLive: ErrReleased,
	notOwner: ErrNotOwner, notLower: ErrPrecedence, superseded: ErrSuperseded,
}

// reasonNames are the names of reasons in [observe.Counts].
var reasonNames = [len(reasons)]string{
	conflict: "conflict", changed: "conflict", draining: "draining", removed: "removed", full: "full",
	limited: "limit", jobless: "limit", forbidden: "forbidden", notPermitted: "forbidden", gangRefused: "gang", notLive: "released",
	notOwner: "not owner", notLower: "precedence", superseded: "superseded",
}

// Reason returns the word that [observe.Counts] have for a refusal, by the error of a claim:
// see [Txn.Err]. It is empty for other errors.
func Reason(err error) string {
	for v, is := range reasons {
		if is != nil && errors.Is(err, is) {
			return reasonNames[v]
		}
	}
	return ""
}

type itemKind uint8

const (
	claimItem    itemKind = iota // also the first claim of an exchange, with the exchanged allocations in from
	followerItem                 // another claim of the same exchange
	resizeItem                   // a claim with the machine, account and precedence of from
	releaseItem
)

// item is a claim or a release, with its result.
type item struct {
	claim   Claim
	from    []AllocationID // exchanged for the claim and its followers
	tally   *tally         // of a claim; of a release once it has the right to it: claim.Need is then the allocation's
	ext     *extension     // of a claim, in its slot
	grantee uint64         // of a claim: see record
	id      AllocationID   // of a claim once it has a slot; of a release always
	kind    itemKind
	verdict verdict
	own     bool     // a claim has slot id.slot()
	changed bool     // its need differs from that in its slot
	dead    bool     // a release found the allocation live
	beside  bool     // a claim names a reservation for which its machine keeps no room
	gone    int32    // place in Txn.gone of the records of from, and then of those of the claim's victims
	spec    *spec    // of a claim's machine, where the snapshot knows it: so seldom has to be looked at
	known   *version // of a claim's machine in the snapshot, where detection is coarse
	last    uint64   // the seq of the last allocation in a claim's slot
	refusal int32    // place in Txn.refusals, plus one

	_ [20]byte // to whole cache lines
}

// refusal holds the state of the cell for which a claim was refused.
type refusal struct {
	spec        *spec
	cond        Condition
	free        resources.Vector
	held, limit resources.Vector
	culprit     culprit
	limits      *Limits // of the scheduler
	mask        *Mask
}

// culprit is the allocation for which a claim is refused, if there is one.
type culprit struct {
	id         AllocationID
	precedence Precedence
	claimed    Precedence // by the claim that names it
	owner      string     // its scheduler, where that is the reason
}

// name gives e the values for which a claim was refused.
func (r *refusal) name(e *RefusalError, v verdict) {
	switch v {
	case notPermitted:
		e.Precedence, e.Lowest, e.Highest = r.culprit.claimed, r.limits.Lowest, r.limits.Highest
	case forbidden:
		e.Permitted = *r.mask
	case notLower:
		e.Allocation, e.Victim, e.Precedence = r.culprit.id, r.culprit.precedence, r.culprit.claimed
	case notOwner:
		e.Allocation, e.owner = r.culprit.id, r.culprit.owner
	default:
		e.Allocation = r.culprit.id
	}
}

func (it *item) node() uint32 {
	if it.kind == releaseItem {
		return it.id.node()
	}
	return uint32(it.claim.Machine.Node())
}

// begin clears the results of an earlier try to commit.
func (it *item) begin() {
	it.verdict, it.tally, it.ext, it.own, it.dead, it.refusal = pending, nil, nil, false, false, 0
}

// claimed returns the nodes of the machines that t claims.
func (t *Txn) claimed() map[uint32]bool {
	nodes := make(map[uint32]bool)
	for i := range t.items {
		if it := &t.items[i]; it.kind != releaseItem {
			nodes[it.node()] = true
		}
	}
	return nodes
}

// releasesFirst puts the machines on which t claims nothing before the others. So the
// allocations released there do not count as held together with the claims.
func (t *Txn) releasesFirst() {
	claimed := t.claimed()
	place := func(i int32) int {
		if claimed[t.items[i].node()] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(t.order, func(a, b int32) int { return cmp.Compare(place(a), place(b)) })
}
