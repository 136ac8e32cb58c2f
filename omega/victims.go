package omega

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Candidate is an allocation, a lease or a task that may be a victim.
type Candidate struct {
	ID   int              // the caller's number for it
	Need resources.Vector // that its preemption frees
	// Rank is the worth of the candidate: the lowest rank is preempted first.
	Rank int
	// Started is the start as a time or a counter, larger for a later start. Of two
	// candidates of a rank the younger is preempted first: it has least work to lose. Of
	// equally old ones that is the one with the larger ID.
	Started int64
	// Loss is the cost of its preemption in the caller's unit, such as its share of the
	// cell, or the work that is lost: see [LossOf].
	Loss int64
}

// Victims is a choice of victims on one machine: see [ChooseVictims].
type Victims struct {
	IDs    []int          // of the victims, in the order of preemption
	Rank   int            // the highest rank of a victim; [math.MinInt] without victims
	Loss   int64          // of all victims
	Oldest int64          // the earliest start of a victim
	Level  locality.Level // of the machine; the caller's to set
}

// Compare returns less than 0 if a is preferred to b, a choice on another machine: by
// lower Rank, smaller Loss, fewer victims, nearer Level, younger Oldest. Callers break
// the remaining ties by the machine that comes first.
func (a *Victims) Compare(b *Victims) int {
	return cmp.Or(
		cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Loss, b.Loss),
		cmp.Compare(len(a.IDs), len(b.IDs)),
		cmp.Compare(a.Level, b.Level),
		cmp.Compare(b.Oldest, a.Oldest),
	)
}

// LossOf returns a loss by size: the dominant share of an amount in a total, in millionths,
// rounded up.
func LossOf(amount, total resources.Vector) int64 {
	share, _, _ := amount.DominantShare(total)
	return int64(math.Ceil(share * 1e6))
}

// InOrder sorts candidates in place into the order of preemption, and walks them.
func InOrder(candidates []Candidate) iter.Seq[Candidate] {
	slices.SortFunc(candidates, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.Started, a.Started), cmp.Compare(b.ID, a.ID))
	})
	return slices.Values(candidates)
}

// ChooseVictims chooses victims among the candidates on one machine, in the order of
// preemption ([InOrder]), until need fits in room. It returns no victims if the need
// fits, and false if it makes no choice.
//
//   - A candidate without any missing kind is left alone.
//   - lose, if not nil, is asked for each victim. It counts the loss, or returns false
//     if the owner cannot lose the candidate as well. keep takes a loss back; all are
//     taken back before the return.
//   - Unnecessary victims are spared, the last in order first.
//   - If refused losses are in the way, the first candidate of a rank that is enough
//     alone is chosen, before candidates of a higher rank are.
//
// It finds a choice if one candidate is enough alone, or if all with a missing kind may
// be lost together; other sets are not tried (a knapsack problem). Cost: O(candidates),
// with at most two calls of lose for each.
func ChooseVictims(
	need, room resources.Vector, ordered iter.Seq[Candidate], lose func(Candidate) bool, keep func(Candidate),
) (v Victims, ok bool) {
	p := choice{need: need, base: room, room: room, lose: lose, keep: keep}
	if !p.fits() {
		for c := range ordered {
			if len(p.rank) > 0 && c.Rank != p.rank[0].Rank && p.endRank() {
				break
			}
			if p.add(c); p.fits() {
				break // before the walk makes one more candidate
			}
		}
	}
	if !p.fits() && !p.endRank() {
		p.takeBack()
		return Victims{}, false
	}
	p.takeBack()
	return p.spare(), true
}

// choice is the state of a [ChooseVictims].
type choice struct {
	need       resources.Vector
	base, room resources.Vector // without victims and with those that are taken
	lose       func(Candidate) bool
	keep       func(Candidate)
	taken      []Candidate
	rank       []Candidate // seen of the present rank that could be enough alone
	refused    bool        // a loss, in the present rank
}

func (p *choice) fits() bool { return resources.Fits(&p.need, &p.room) }

// add takes one more candidate, unless it does not help or may not be lost.
func (p *choice) add(c Candidate) {
	if len(p.rank) > 0 && p.rank[0].Rank != c.Rank {
		p.rank, p.refused = p.rank[:0], false
	}
	if p.lose != nil {
		p.rank = append(p.rank, c)
	}
	helps := false
	for k, q := range p.need {
		helps = helps || q > p.room[k] && c.Need[k] > 0
	}
	switch {
	case !helps:
	case p.lose != nil && !p.lose(c):
		p.refused = true
	default:
		p.room, p.taken = p.room.Add(c.Need), append(p.taken, c)
	}
}

// endRank looks for one candidate of the rank that is enough alone, where losses were
// refused, and reports whether there is one.
func (p *choice) endRank() bool {
	if !p.refused {
		return false
	}
	taken := p.taken
	p.takeBack()
	for _, c := range p.rank {
		if room := p.base.Add(c.Need); resources.Fits(&p.need, &room) && p.lose(c) {
			p.room, p.taken = room, []Candidate{c}
			return true
		}
	}
	for _, c := range taken {
		p.lose(c) // in the same order as before, so it is not refused
	}
	p.taken = taken
	return false
}

func (p *choice) takeBack() {
	if p.keep != nil {
		for _, c := range p.taken {
			p.keep(c)
		}
	}
}

// spare drops the victims that are not needed, those that are worth most first.
func (p *choice) spare() Victims {
	v := Victims{Rank: math.MinInt, Oldest: math.MaxInt64}
	for _, c := range slices.Backward(p.taken) {
		if without, ok := p.room.Sub(c.Need); ok && resources.Fits(&p.need, &without) {
			p.room = without
			continue
		}
		v.IDs, v.Loss = append(v.IDs, c.ID), v.Loss+c.Loss
		v.Rank, v.Oldest = max(v.Rank, c.Rank), min(v.Oldest, c.Started)
	}
	slices.Reverse(v.IDs)
	return v
}

// Ranking tells which allocations a [Snapshot.FindOrPreempt] may preempt, and in which
// order. Packages drf and drf/pools compute ranks for fairness; [RankBelow] ranks by
// precedence.
type Ranking struct {
	// Of returns the rank of an allocation, and false for one that stays. Room is what is
	// free on its machine. Of is required.
	Of func(a Allocation, room resources.Vector) (rank int, ok bool)
	// Lose and Keep, if not nil, count losses: see [ChooseVictims].
	Lose func(a Allocation, room resources.Vector) bool
	Keep func(a Allocation)
	// Started returns when an allocation started: see [Candidate]. If it is nil, ages are
	// compared on one machine only.
	Started func(a Allocation) int64
	// Loss returns the cost of a preemption: see [Candidate]. If it is nil, that is
	// [LossOf] in the capacity of the cell.
	Loss func(a Allocation) int64
	// Level returns how near a machine is. If it is nil, all are equally near.
	Level func(locality.Node) locality.Level

	claim Precedence // of the claim, if known
	known bool       // else it is the lowest that the scheduler may claim at
}

// RankBelow returns the ranking by precedence for a claim at p: allocations of a precedence
// below p are preempted, the lowest first. Room that is reserved below p counts as free,
// also where Of is replaced.
func RankBelow(p Precedence) Ranking {
	of := func(a Allocation, _ resources.Vector) (int, bool) { return int(a.Precedence), a.Precedence < p }
	return Ranking{Of: of, claim: p, known: true}
}

// choose chooses victims among allocations of one machine, of a cell with a total.
func (r *Ranking) choose(
	need *resources.Vector, room resources.Vector, of []Allocation, total *resources.Vector,
) (v Victims, ok bool) {
	candidates, most := make([]Candidate, 0, len(of)), room
	slices.SortFunc(of, func(a, b Allocation) int {
		return cmp.Or(cmp.Compare(a.ID.seq, b.ID.seq), cmp.Compare(a.ID.slot(), b.ID.slot()))
	})
	for i, a := range of {
		if rank, ok := r.Of(a, room); ok {
			c := Candidate{ID: i, Need: a.Need, Rank: rank}
			if r.Started != nil {
				c.Started = r.Started(a)
			}
			if r.Loss != nil {
				c.Loss = r.Loss(a)
			} else {
				c.Loss = LossOf(a.Need, *total)
			}
			candidates, most = append(candidates, c), most.Add(a.Need)
		}
	}
	if !resources.Fits(need, &most) {
		return Victims{}, false
	}
	var lose func(Candidate) bool
	var keep func(Candidate)
	if r.Lose != nil {
		lose = func(c Candidate) bool { return r.Lose(of[c.ID], room) }
	}
	if r.Keep != nil {
		keep = func(c Candidate) { r.Keep(of[c.ID]) }
	}
	return ChooseVictims(*need, room, InOrder(candidates), lose, keep)
}

// ids returns the allocations that are chosen.
func (a *Victims) ids(of []Allocation) (ids []AllocationID) {
	for _, i := range a.IDs {
		ids = append(ids, of[i].ID)
	}
	return ids
}

// FindOrPreempt is [Snapshot.Find]. If that finds nothing, it chooses a machine and
// victims there that make room for the need ([Victims.Compare], then the lowest number),
// and returns false if there are none. The victims may be none: the need then fits in room
// that is free or reserved below the precedence of [RankBelow]. Commit a [Claim] at that
// precedence with these victims. The ranking has counted their losses, so that the next
// choice goes on from there.
//
// It reads allocations as they are now, maybe newer than the snapshot, and uses no room
// taken in the snapshot. A reservation that was over at the last refresh keeps no room. Cost: as Find, and then O(machines + a log a) in their
// allocations.
func (s *Snapshot) FindOrPreempt(q Query, p Policy, r Ranking) (m MachineID, victims []AllocationID, ok bool) {
	if m, ok = s.Find(q, p); ok || s.none() || r.Of == nil {
		return m, nil, ok
	}
	all := q
	all.Need = resources.Vector{}
	var total resources.Vector
	for m := range s.Machines() {
		total = total.Add(m.Capacity)
	}
	least := s.owner.limits.Lowest // precedence of the reservations that stay
	if r.known {
		least = max(least, r.claim)
	}
	var best Victims
	var at []Allocation
	var free resources.Vector
	for id := range s.Fitting(all) {
		node := int(id.Node())
		val, of := s.cell.read(uint32(node))
		shown := s.val[node].roomFor(s.owner, s.at)
		taken, _ := shown.Sub(s.free[node])
		room, rest := val.free().Sub(taken)
		if val.spec.id != id || val.cond != Ready || !rest || !resources.Fits(&q.Need, &val.spec.Capacity) {
			continue
		}
		need := val.reserved().without(0, s.at).beside(q.Need, least)
		v, chosen := r.choose(&need, room, of, &total)
		if !chosen {
			continue
		}
		if r.Level != nil {
			v.Level = r.Level(id.Node())
		}
		if d := v.Compare(&best); !ok || d < 0 || d == 0 && id.Node() < m.Node() {
			m, best, at, free, ok = id, v, of, room, true
		}
	}
	if r.Lose != nil {
		for _, i := range best.IDs {
			r.Lose(at[i], free)
		}
	}
	return m, best.ids(at), ok
}

// Victims proposes allocations on machine m to preempt for a need at precedence p, by
// [RankBelow]: none if the need fits as it is. It returns false if no victims are enough,
// or the machine takes no claims. Room reserved at p or above stays reserved. It reads
// the machine as it is now, lock-free, and retries if it changes meanwhile. Cost: O(a log
// a) in the machine's allocations.
func (c *Cell) Victims(m MachineID, need resources.Vector, p Precedence) (victims []AllocationID, ok bool) {
	if c.none() || c.word(m) == nil {
		return nil, false
	}
	val, of := c.read(uint32(m.Node()))
	if val.spec.id != m || val.cond != Ready {
		return nil, false
	}
	r := RankBelow(p)
	need = val.reserved().beside(need, p)
	v, ok := r.choose(&need, val.free(), of, &val.spec.Capacity)
	return v.ids(of), ok
}
