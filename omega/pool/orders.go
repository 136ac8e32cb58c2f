package pool

import (
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// orders returns what the blocks of machines are to become, the machines where all that
// was preempted has stopped, and whether some block grows. Stock that goes is out of the
// books from then on.
func (cm *committer) orders() (list []blocks.Order, stopped []locality.Node, grows bool) {
	l := cm.lend
	wishes := cm.wishes()
	for node := range wishes {
		l.mark(node)
	}
	if l.closing {
		cm.markStock()
	}
	dirty := l.dirty
	l.dirty = nil
	for _, node := range dirty {
		m := &cm.books.machines[node]
		m.lent.dirty = false
		if m.lent.marked && resources.Fits(&m.held, &m.block) {
			stopped, m.lent.marked = append(stopped, node), false
		}
		want, total, changed := cm.target(m, wishes[node])
		if !changed {
			continue
		}
		order := blocks.Order{Node: node, Want: want}
		if w := wishes[node]; w != nil {
			order.Reservation = w.reservation
		}
		list = append(list, order)
		grows = grows || wishes[node] != nil
		for k := range m.block {
			m.block[k] = min(m.block[k], max(total[k], m.held[k]))
		}
		cm.books.settle(int(node))
	}
	return list, stopped, grows
}

// ordered applies the outcomes of some orders.
func (cm *committer) ordered(orders []blocks.Order) {
	for i := range orders {
		node := orders[i].Node
		cm.adopt(node)
		if cm.search.index != nil {
			cm.search.index.mark(int(node))
		}
	}
	cm.books.epoch += 2 // requests that wait for their data look again
	cm.serving.dispatch()
	cm.answer(0)
	for i := range orders {
		cm.lend.review(int(orders[i].Node)) // they may have left some
	}
	cm.crew.launch()
}

// adopt notes the blocks of a machine as they are now.
func (cm *committer) adopt(node locality.Node) {
	l, m := cm.lend, &cm.books.machines[node]
	from := cm.blocks.At(node)
	lt := m.lent
	lt.free, lt.total, lt.marked = from.Free, from.Total(), from.Marked()
	for i := range lt.parts {
		lt.parts[i].size = resources.Vector{}
	}
	for _, b := range from.Blocks() {
		part := lt.part(l.number(b.Charge))
		part.size = part.size.Add(b.Size)
	}
	lt.parts = slices.DeleteFunc(lt.parts, func(one portion) bool { return one.used == one.size && one.size == (resources.Vector{}) })
	if was := m.block; !resources.Fits(&was, &from.Usable) { // a claim has taken a part
		m.block = from.Usable
		cm.reserving.unreserveOn(node)
		cm.search.index = nil
	}
	m.block = from.Usable
	m.shrunk = m.shrunk || !resources.Fits(&m.held, &m.block)
	cm.books.settle(int(node))
}

// markStock has all machines looked at that hold more than their leases use.
func (cm *committer) markStock() {
	for node := range cm.books.machines {
		if m := &cm.books.machines[node]; m.lent.total != m.held || m.lent.marked {
			cm.lend.mark(locality.Node(node))
		}
	}
}

// borrows reports whether the pool has blocks in the cell.
func (cm *committer) borrows() bool {
	return slices.ContainsFunc(cm.books.machines, func(m machine) bool {
		return m.lent.total != (resources.Vector{}) || m.lent.marked
	})
}

// target returns the wanted size of each block of a machine, and their sum. A size is
// the use of leases, plus wishes, plus stock. changed reports whether a size differs.
//
// Blocks are aimed at with some play, so that a commit is needed once in as many leases
// as a step has.
func (cm *committer) target(m *machine, w *wish) (want []blocks.Block, total resources.Vector, changed bool) {
	l, lt := cm.lend, m.lent
	if !resources.Fits(&m.held, &lt.total) {
		return nil, total, false // leases have to end first
	}
	exact := l.exact() || lt.past || m.draining
	var stock, left resources.Vector // beyond use and wishes
	if w != nil {
		left = cm.left()
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

// left returns the scheduler's room within its limits.
func (cm *committer) left() resources.Vector {
	left, ok := cm.lend.scheduler.Left()
	if !ok {
		return resources.Vector{}
	}
	return left
}
