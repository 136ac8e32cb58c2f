package pool

import (
	"slices"

	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held, by the committer.

// target returns what the blocks of a machine should be, and what they add up to: what
// leases use, what is wished for, and stock. It reports whether that is anything new.
//
// Blocks are aimed at with some play, so that a commit is needed once in as many leases
// as a step has.
func (p *Pool) target(m *machine, w *wish) (want []blocks.Block, total resources.Vector, changed bool) {
	l, lt := p.lend, m.lent
	if !resources.Fits(&m.held, &lt.total) {
		return nil, total, false // leases have to end first
	}
	exact := l.exact() || lt.past || m.draining
	var stock, left resources.Vector // beyond what is used and wished for
	if w != nil {
		left = l.left()
	}
	for k := range stock {
		stock[k] = lt.total[k] - m.held[k]
		least := min(stock[k], m.kept[k]+m.owed[k]+lt.total[k]-m.block[k]) // for requests, or not ready yet
		switch {
		case w != nil:
			stock[k] += max(0, min(lt.step[k], lt.free[k]-w.short[k], left[k]-w.short[k]))
			if exact {
				stock[k] = lt.total[k] - m.held[k]
			}
		case exact:
			stock[k] = min(least, max(stock[k]-m.asked[k], m.owed[k]+lt.total[k]-m.block[k]))
		case stock[k] > 2*lt.step[k]:
			stock[k] = max(least, lt.step[k])
		}
	}
	total = m.held.Add(stock)
	lt.part(0)
	if w != nil {
		total = total.Add(w.short)
		for _, s := range w.parts {
			lt.part(s.charge)
		}
	}
	sizes := make([]resources.Vector, len(lt.parts))
	order := make([]int, len(lt.parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(l.charges[lt.parts[b].charge].Precedence) - int(l.charges[lt.parts[a].charge].Precedence)
	})
	for _, i := range order {
		part := &lt.parts[i]
		used := part.used.Add(w.of(part.charge))
		if sizes[i] = used; part.charge == 0 {
			continue
		}
		for k := range used {
			play := part.size[k] - used[k]
			if play < 0 || play > 2*lt.step[k] {
				play = lt.step[k]
			}
			play = min(play, stock[k])
			sizes[i][k] += play
			stock[k] -= play
		}
	}
	for i := range lt.parts {
		part := &lt.parts[i]
		if part.charge == 0 {
			sizes[i] = sizes[i].Add(stock) // the lowest precedence has the stock
		}
		changed = changed || sizes[i] != part.size
		if sizes[i] != (resources.Vector{}) {
			want = append(want, blocks.Block{Charge: l.charges[part.charge], Size: sizes[i]})
		}
	}
	return want, total, changed
}

// left returns what the scheduler's limits leave it.
func (l *lender) left() resources.Vector {
	left, ok := l.scheduler.Left()
	if !ok {
		return resources.Vector{}
	}
	return left
}
