//go:build explore

package omega

import (
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// withStamps has all machines stamped for the time of a test.
func withStamps(t *testing.T) {
	t.Helper()
	was := unstamped
	unstamped = 0
	t.Cleanup(func() { unstamped = was })
}

// changes are changes of machines of one block while a snapshot is refreshed.
var changes = map[string]func(c *Cell) [][]func(){
	"two claims": func(c *Cell) [][]func() {
		a, b := must(c.Register("a", Limits{})), must(c.Register("b", Limits{}))
		return [][]func(){
			{func() { must(a.Commit(claiming(1, 0, 1))) }},
			{func() { must(b.Commit(claiming(1, 0, 2))) }},
		}
	},
	"two claims of one machine": func(c *Cell) [][]func() {
		a, b := must(c.Register("a", Limits{})), must(c.Register("b", Limits{}))
		return [][]func(){
			{func() { must(a.Commit(claiming(1, 0, 1))) }},
			{func() { must(b.Commit(claiming(1, 0, 1))) }},
		}
	},
	"a gang": func(c *Cell) [][]func() {
		s := must(c.Register("s", Limits{}))
		return [][]func(){{func() { must(s.Commit(claiming(1, 0, 1, 2))) }}}
	},
	"two gangs": func(c *Cell) [][]func() {
		a, b := must(c.Register("a", Limits{})), must(c.Register("b", Limits{}))
		return [][]func(){
			{func() { must(a.Commit(claiming(2, 0, 1, 2))) }},
			{func() { must(b.Commit(claiming(2, 0, 1, 2))) }},
		}
	},
	"a claim and its release": func(c *Cell) [][]func() {
		s := must(c.Register("s", Limits{}))
		return [][]func(){{func() {
			id, _ := grantOf(s, claiming(1, 0, 1))
			must(0, s.Release(id))
		}}}
	},
	"a cut and a claim": func(c *Cell) [][]func() {
		s := must(c.Register("s", Limits{}))
		return [][]func(){
			{func() { c.Cut() }},
			{func() { must(s.Commit(claiming(1, 0, 1))) }},
		}
	},
	"a machine that is changed": func(c *Cell) [][]func() {
		return [][]func(){
			{func() { must(0, c.Drain(c.machine(1, 0))) }},
			{func() {
				must(c.Remove(c.machine(2, 0)))
				must(c.Add(Machine{Name: "next", Capacity: resources.Vector{9}}))
			}},
		}
	},
}

// look returns the values of the machines at one moment each.
func look(c *Cell) []*version {
	all := make([]*version, c.nodes.Load())
	for node := range all {
		all[node] = load(c.words.at(uint32(node)))
	}
	return all
}

// fresh checks that a snapshot has nothing older than the values seen before its refresh.
func fresh(snap *Snapshot, before []*version) error {
	for node, val := range before {
		if got := snap.known(node); got.seq < val.seq || got.spec.id < val.spec.id {
			return fmt.Errorf("machine %d is at change %d, and was seen at %d", node, got.seq, val.seq)
		}
	}
	return nil
}

// same checks that a snapshot equals the cell at rest.
func same(snap *Snapshot) error {
	snap.catchUpAll()
	for node, val := range look(snap.cell) {
		free := val.free()
		if val.cond != Ready {
			free = closed
		}
		if snap.val[node].seq != val.seq || snap.free[node] != free {
			return fmt.Errorf("machine %d is at change %d with %v free, want %d with %v",
				node, snap.val[node].seq, snap.free[node], val.seq, free)
		}
	}
	return nil
}

// A refresh is not older than a read of the cell before it, with stamps and without.
func TestExplore_RefreshAgainstChanges(t *testing.T) {
	for _, stamped := range []bool{false, true} {
		for name, start := range changes {
			t.Run(fmt.Sprintf("%s, stamped=%t", name, stamped), func(t *testing.T) {
				machines := 3
				if stamped {
					withStamps(t)
					machines = stampBlock
				}
				threads := 1 + len(start(newCell(3, 2)))
				exploreAll(t, 5-threads, func(r *explore.Run) {
					c := newCell(machines, 2)
					snap := must(c.Register("reader", Limits{})).Snapshot()
					snap.Refresh(time.Time{}) // so that the block is at rest in it
					for i, ops := range start(c) {
						r.Go(fmt.Sprint(i), func() {
							for _, op := range ops {
								op()
							}
						})
					}
					var wrong error
					r.Go("reader", func() {
						for range 2 {
							var before [3]*version
							for node := range before {
								before[node] = load(c.words.at(uint32(node)))
							}
							snap.Refresh(time.Time{})
							if err := fresh(snap, before[:]); err != nil {
								wrong = err
							}
						}
					})
					r.Check(func() error {
						if wrong != nil {
							return wrong
						}
						snap.Refresh(time.Time{})
						if err := same(snap); err != nil {
							return err
						}
						if n := snap.Refresh(time.Time{}); n > 0 {
							return fmt.Errorf("%d machines have changed at rest", n)
						}
						return exact(c)
					})
				})
			})
		}
	}
}

// The snapshot has the states that RefreshEach visits and the grants of its scheduler's
// own commits, and nothing else, whatever other schedulers commit meanwhile.
func TestExplore_RefreshEachAgainstCommits(t *testing.T) {
	for _, stamped := range []bool{false, true} {
		t.Run(fmt.Sprintf("stamped=%t", stamped), func(t *testing.T) {
			machines := 3
			if stamped {
				withStamps(t)
				machines = stampBlock
			}
			exploreAll(t, 3, func(r *explore.Run) {
				c := newCell(machines, 4)
				s, other := must(c.Register("s", Limits{})), must(c.Register("other", Limits{}))
				known := make([]int64, machines)
				snap := s.Snapshot()
				snap.Refresh(time.Time{})
				for state := range snap.Machines() {
					known[state.ID.Node()] = state.Free[0]
				}
				var wrong error
				refresh := func() {
					snap.RefreshEach(time.Time{}, func(m MachineState) { known[m.ID.Node()] = m.Free[0] })
					for node, free := range known {
						if snap.known(node).room[0] != free {
							wrong = fmt.Errorf("machine %d has %d free, and %d were told", node, snap.known(node).room[0], free)
						}
					}
				}
				r.Go("s", func() {
					for node := range uint32(2) {
						if _, ok := grantOf(s, claiming(1, 0, node)); ok {
							known[node]--
						}
						refresh()
					}
				})
				r.Go("other", func() {
					must(other.Commit(claiming(1, 0, 0, 1)))
					id, _ := grantOf(other, claiming(1, 0, 1))
					must(0, other.Release(id))
				})
				r.Check(func() error {
					if refresh(); wrong != nil {
						return wrong
					}
					if err := same(snap); err != nil {
						return err
					}
					return exact(c)
				})
			})
		})
	}
}
