package federation

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// preempt commits a launch that seeks a machine.
//
// For fairness a task displaces tasks of its own precedence, but a claim preempts lower
// precedences only. So the claim is made one precedence higher. Before the task starts,
// its allocation is exchanged for one of the task's precedence.
func (v *Verifier) preempt(ctx context.Context, now time.Time, w *work) error {
	l, tx := &w.batch.Launches[w.from], &v.attempt.Txn
	if v.attempt.Doubt() == 0 && w.raised == (omega.AllocationID{}) {
		snap, err := v.attempt.Begin(ctx, now)
		if err != nil {
			return err
		}
		tx.Gang, tx.Detect = false, omega.Fine
		if err := v.accounts(ctx, w.batch.Launches[w.from:w.from+1]); err != nil {
			return err
		}
		v.seek(ctx, snap, l)
	}
	if w.raised == (omega.AllocationID{}) {
		_, err := v.attempt.Commit(ctx, now)
		if v.undecided(ctx, err) {
			return err
		}
		id, ok := tx.Allocation(0)
		if err != nil || !ok || v.precedence == l.Precedence {
			v.sought(l, w, id)
			return nil
		}
		w.raised = id
	}
	if v.attempt.Doubt() == 0 {
		if _, err := v.attempt.Begin(ctx, now); err != nil {
			return err
		}
		account, err := v.cell.Account(ctx, l.User)
		if err != nil {
			return err
		}
		tx.Detect = omega.Fine
		tx.Exchange([]omega.AllocationID{w.raised}, omega.Claim{Machine: v.machine, Account: account, Need: l.Need, Precedence: l.Precedence})
	}
	_, err := v.attempt.Commit(ctx, now)
	if v.undecided(ctx, err) {
		return err
	}
	id := w.raised
	if lower, ok := tx.Allocation(0); err == nil && ok {
		id = lower
	}
	w.raised = omega.AllocationID{}
	v.sought(l, w, id)
	return nil
}

// sought notes the outcome of a launch that seeks a machine.
func (v *Verifier) sought(l *launch, w *work, id omega.AllocationID) {
	if r := v.known(l.Task); r != nil {
		id = r.Allocation
	} else if id != (omega.AllocationID{}) {
		v.start(l, id)
		v.states.touch(v.machine)
	}
	w.answer.Granted = append(w.answer.Granted, id)
	w.answer.Why = append(w.answer.Why, refusedRoom)
	w.from++
}

// seek adds the claim of a launch on a machine that has room, or on one with victims:
// allocations of lower precedence first, then allocations of users above their fair
// share.
func (v *Verifier) seek(ctx context.Context, snap *omega.Snapshot, l *launch) {
	v.machine, v.precedence = 0, l.Precedence
	account, err := v.cell.Account(ctx, l.User)
	if err != nil || l.Need.CheckNeed() != nil || v.known(l.Task) != nil || l.Seek.Grace == 0 {
		return
	}
	q := omega.Query{Need: l.Need}
	if l.Seek.Among != nil {
		q.Allow = func(n locality.Node) bool { return l.Seek.Among.Has(n) && l.Seek.knows(v.states.machines, int(n)) }
		v.attempt.Txn.Detect = omega.Coarse
	}
	m, victims, ok := snap.FindOrPreempt(q, omega.NextFit(), omega.RankBelow(l.Precedence))
	if !ok && len(l.Seek.Users) > 0 {
		if m, victims, ok = snap.FindOrPreempt(q, omega.NextFit(), v.fair(ctx, l)); ok {
			v.precedence++
		}
	}
	if !ok {
		return
	}
	v.machine = m
	v.attempt.Txn.Grace = l.Seek.Grace
	v.attempt.Txn.Claim(omega.Claim{Machine: m, Account: account, Need: l.Need, Precedence: v.precedence, Victims: victims})
}

// knows reports whether the attributes of a machine are those that the global master has
// chosen it by.
func (s *seek) knows(machines []report, n int) bool {
	want, ok := s.Described[n]
	if !ok {
		want = 1
	}
	return n < len(machines) && machines[n].Described == want
}

// fair ranks allocations of the task's precedence, and below, by how far their users are
// above their fair share of all cells. The usage in this cell is the present one.
func (v *Verifier) fair(ctx context.Context, l *launch) omega.Ranking {
	total := l.Seek.Total
	for m := range v.cell.Machines() {
		if m.Condition == omega.Ready {
			total = total.Add(m.Capacity)
		}
	}
	index, user := map[omega.Account]int{}, -1
	var holdings []allot.Holding
	for _, s := range l.Seek.Users {
		account, err := v.cell.Account(ctx, s.User)
		if err != nil {
			continue
		}
		here, err := v.cell.Usage(account)
		if err != nil {
			continue
		}
		h := allot.Holding{Usage: s.Usage.Add(here), Weight: s.Weight}
		if s.User == l.User {
			user, h.Demand = len(holdings), l.Need
		}
		index[account] = len(holdings)
		holdings = append(holdings, h)
	}
	p, err := allot.Preempt(total, holdings, user)
	if err != nil {
		return omega.Ranking{Of: func(omega.Allocation, resources.Vector) (int, bool) { return 0, false }}
	}
	// The claim is one higher, to preempt, and then lowered to this. So it leaves room for
	// the reservations of its equals.
	r := omega.RankBelow(l.Precedence)
	r.Of = func(a omega.Allocation, _ resources.Vector) (rank int, ok bool) {
		i, known := index[a.Account]
		if !known || a.Precedence > l.Precedence {
			return 0, false
		}
		return p.Rank(i)
	}
	r.Lose = func(a omega.Allocation, _ resources.Vector) bool { return p.Lose(index[a.Account], a.Need) }
	r.Keep = func(a omega.Allocation) { p.Keep(index[a.Account], a.Need) }
	return r
}

// usage returns the usage of all users of the cell.
func (v *Verifier) usage() (all []stake) {
	for a := omega.Account(1); ; a++ {
		name, ok := v.cell.AccountName(a)
		if !ok {
			return all
		}
		if used, err := v.cell.Usage(a); err == nil && used != (resources.Vector{}) {
			all = append(all, stake{User: name, Usage: used})
		}
	}
}
