//go:build explore

package omega

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// frozen is a version as it was when a goroutine had loaded it: from then on it must
// never change, unless the goroutine is its maker's.
type frozen struct {
	v      *version
	spec   *spec
	room   half
	first  [firstLive / 64]uint64
	wide   wide
	rare   *rare
	seq    uint64
	claims uint32
	epoch  uint16
	cond   Condition
}

func freeze(v *version) frozen {
	f := frozen{v: v, spec: v.spec, room: v.room, first: v.live.first, rare: v.rare, seq: v.seq, claims: v.claims, epoch: v.epoch, cond: v.cond}
	if v.live.wide != nil {
		f.wide = *v.live.wide
	}
	return f
}

// reading holds the values that the other goroutines of a scenario have loaded.
type reading struct {
	cell  *Cell
	maker *Scheduler
	held  []AllocationID // by the maker, before the scenario begins; one at least on the first machine
	seen  []frozen
	wrong error
}

func (r *reading) look(node uint32) {
	f := freeze(load(r.cell.words.at(node)))
	if r.seen = append(r.seen, f); f.spec.id.Node() != r.cell.machine(node, 0).Node() {
		r.wrong = fmt.Errorf("machine %d is machine %v", node, f.spec.id)
	}
}

func (r *reading) follow(snap *Snapshot) {
	snap.Refresh(time.Time{})
	for node := range snap.val {
		r.seen = append(r.seen, freeze(snap.known(node)))
	}
}

// unchanged has to be called at the end of the scenario.
func (r *reading) unchanged() error {
	for _, f := range r.seen {
		if now := freeze(f.v); now != f {
			return fmt.Errorf("a version was %+v when it was read, and is %+v", f, now)
		}
	}
	return r.wrong
}

// besides are the calls of other threads while a scheduler uses its versions again.
var besides = map[string]func(r *reading) [][]func(){
	"a reader": func(r *reading) [][]func() {
		return [][]func(){{func() { r.look(0) }, func() { r.look(1) }}}
	},
	"two readers": func(r *reading) [][]func() {
		return [][]func(){{func() { r.look(0) }}, {func() { r.look(0) }}}
	},
	"a scheduler that claims": func(r *reading) [][]func() {
		other := must(r.cell.Register("other", Limits{}))
		return [][]func(){{func() { must(other.Commit(claiming(1, 0, 0))) }, func() { must(other.Commit(claiming(1, 0, 1))) }}}
	},
	"a scheduler that claims, and a reader": func(r *reading) [][]func() {
		other := must(r.cell.Register("other", Limits{}))
		return [][]func(){{func() { must(other.Commit(claiming(1, 0, 0))) }}, {func() { r.look(0) }}}
	},
	"a gang": func(r *reading) [][]func() {
		other := must(r.cell.Register("other", Limits{}))
		return [][]func(){{func() { must(other.Commit(claiming(2, 0, 0, 1))) }}}
	},
	"a snapshot": func(r *reading) [][]func() {
		snap := must(r.cell.Register("other", Limits{})).Snapshot()
		return [][]func(){{func() { r.follow(snap) }, func() { r.follow(snap) }}}
	},
	"a cut": func(r *reading) [][]func() {
		return [][]func(){{func() {
			for m, allocations := range r.cell.Cut().Machines() {
				if m.Free[0]+int64(len(allocations)) != m.Capacity[0] {
					r.wrong = fmt.Errorf("machine %v has %d free in a cut, and %d allocations", m.ID, m.Free[0], len(allocations))
				}
			}
		}}}
	},
	"a cut and a reader": func(r *reading) [][]func() {
		return [][]func(){{func() { r.cell.Cut() }}, {func() { r.look(0) }}}
	},
	"a cell that is saved": func(r *reading) [][]func() {
		return [][]func(){{func() {
			var file bytes.Buffer
			must(0, r.cell.Save(&file))
			must(0, must(Restore(&file, nil)).Check())
		}}}
	},
	"a release by another goroutine": func(r *reading) [][]func() {
		return [][]func(){{func() { must(0, r.maker.Release(r.held[0])) }, func() { r.look(0) }}}
	},
	"a machine that is removed, and its number given out again": func(r *reading) [][]func() {
		return [][]func(){{func() {
			must(r.cell.Remove(r.cell.machine(0, 0)))
			must(r.cell.Add(Machine{Name: "next", Capacity: resources.Vector{5}}))
			r.look(0)
		}}}
	},
	"a successor": func(r *reading) [][]func() {
		return [][]func(){{func() {
			s := must(r.cell.Replace("maker"))
			must(s.Commit(claiming(1, 0, 0)))
			must(s.Commit(claiming(1, 0, 0)))
		}}}
	},
}

// using is a scheduler that uses its versions again.
type using struct {
	preemptions int
	before      func(s *Scheduler) []AllocationID // leaves its own versions in words, and spare ones
	commits     func(s *Scheduler, held []AllocationID)
}

var usings = map[string]using{
	"claims": {5, func(s *Scheduler) (held []AllocationID) {
		for range 2 {
			id, _ := grantOf(s, claiming(1, 0, 0))
			held = append(held, id)
		}
		return held
	}, func(s *Scheduler, held []AllocationID) {
		for _, node := range []uint32{0, 1, 0} {
			_, _ = s.Commit(claiming(1, 0, node)) // fails for one that was replaced
		}
		var tx Txn
		tx.Release(held[1])
		_, _ = s.Commit(&tx)
	}},
	// The gang takes versions of the scheduler's own out of both words, and puts spare
	// ones in place. The commits after it take those out, and put in place what the gang
	// took out. The first one puts back what the gang took out of the same word, which a
	// helper of the gang may still compare with.
	"a gang": {4, func(s *Scheduler) (held []AllocationID) {
		for range 2 {
			tx := claiming(1, 0, 0, 1)
			must(s.Commit(tx))
			held = held[:0]
			for i := range 2 {
				id, _ := tx.Allocation(i)
				held = append(held, id)
			}
		}
		var tx Txn
		tx.Release(held[0])
		tx.Release(held[1])
		must(s.Commit(&tx))
		id, _ := grantOf(s, claiming(1, 0, 0))
		return []AllocationID{id}
	}, func(s *Scheduler, _ []AllocationID) {
		_, _ = s.Commit(claiming(1, 0, 0, 1))
		_, _ = s.Commit(claiming(1, 0, 1))
		_, _ = s.Commit(claiming(1, 0, 0))
	}},
	"two gangs": {3, func(s *Scheduler) []AllocationID {
		must(s.Commit(claiming(1, 0, 0, 1)))
		tx := claiming(1, 0, 0, 1)
		tx.Gang = false
		must(s.Commit(tx))
		id, _ := tx.Allocation(0)
		return []AllocationID{id}
	}, func(s *Scheduler, _ []AllocationID) {
		_, _ = s.Commit(claiming(1, 0, 0, 1))
		_, _ = s.Commit(claiming(1, 0, 0, 1))
	}},
}

// A version that is used again is not held by another goroutine: a version that another
// one has read never changes. The books are right in the end.
func TestExplore_VersionsAreUsedAgain(t *testing.T) {
	for by, using := range usings {
		for name, start := range besides {
			t.Run(by+" beside "+name, func(t *testing.T) {
				threads := 1 + len(start(&reading{cell: newCell(2, 9)}))
				exploreAll(t, max(using.preemptions-threads, 1), func(r *explore.Run) {
					c := newCell(2, 9)
					s := must(c.Register("maker", Limits{}))
					snap := s.Snapshot()
					read := &reading{cell: c, maker: s, held: using.before(s)}
					r.Go("maker", func() { using.commits(s, read.held) })
					for i, ops := range start(read) {
						r.Go(fmt.Sprint(i), func() {
							for _, op := range ops {
								op()
							}
						})
					}
					r.Check(func() error {
						if err := read.unchanged(); err != nil {
							return err
						}
						snap.Refresh(time.Time{})
						if err := same(snap); err != nil {
							return err
						}
						return exact(c)
					})
				})
			})
		}
	}
}

// Commits of several items use versions again, too. No other goroutine sees the versions
// that they found written anew.
func TestExplore_VersionsOfSeveralItemsAreUsedAgain(t *testing.T) {
	paths := map[string]func(s *Scheduler) *Txn{
		"a gang":     func(*Scheduler) *Txn { return claiming(1, 0, 0, 1) },
		"two claims": func(*Scheduler) *Txn { tx := claiming(1, 0, 0, 0); tx.Gang = false; return tx },
		"a claim and releases": func(s *Scheduler) *Txn {
			tx := claiming(1, 0, 0)
			for a := range s.Allocations() {
				tx.Release(a.ID)
			}
			return tx
		},
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			exploreAll(t, 3, func(r *explore.Run) {
				c := newCell(2, 9)
				s, other := must(c.Register("maker", Limits{})), must(c.Register("other", Limits{}))
				s.Snapshot()
				must(s.Commit(claiming(1, 0, 0)))
				must(s.Commit(claiming(1, 0, 0)))
				read, tx := &reading{cell: c, maker: s}, path(s)
				r.Go("maker", func() {
					must(s.Commit(tx))
					must(s.Commit(claiming(1, 0, 0)))
					must(s.Commit(claiming(1, 0, 1)))
				})
				r.Go("other", func() {
					read.look(0)
					must(other.Commit(claiming(1, 0, 0)))
				})
				r.Check(func() error {
					if err := read.unchanged(); err != nil {
						return err
					}
					return exact(c)
				})
			})
		})
	}
}
