package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// floor is a placer that moves the data of a cell, in the places that they have there. It
// makes no exchange and no check, and has no account and no other reader. So it is the least
// that next fit takes with this layout.
type floor struct {
	placer // of which nothing is called

	words  []*floorVersion
	slots  []floorSlots
	seen   []*floorVersion // with val, free and ids: the snapshot
	val    []*floorVersion
	free   []resources.Vector
	ids    [][2]uint64
	spare  *floorVersion
	held   [][2]uint64 // machine and slot, and version, by task
	cursor int
}

// floorVersion has the 192 bytes of a machine's version in a cell.
type floorVersion struct {
	_    [5]uint64
	free resources.Vector
	seq  uint64
	live [3]uint64
	_    [7]uint64
}

// floorSlots are the slots of a machine, of 40 bytes as in a cell of three kinds.
type floorSlots struct {
	first  *[96]uint64
	second *[288]uint64
	_      [2]*uint64
}

const floorSlot = 5 // words

func newFloor(s setting) *floor {
	p := &floor{
		words: make([]*floorVersion, s.machines), slots: make([]floorSlots, s.machines),
		seen: make([]*floorVersion, s.machines), val: make([]*floorVersion, s.machines),
		free: make([]resources.Vector, s.machines), ids: make([][2]uint64, s.machines),
		spare: new(floorVersion), held: make([][2]uint64, s.tasks),
	}
	for i := range p.words {
		p.free[i] = vector(s.capacity)
		p.words[i] = &floorVersion{free: p.free[i]}
	}
	return p
}

// slot returns slot n of a machine.
func (p *floor) slot(machine, n int) []uint64 {
	at := &p.slots[machine]
	const first = len(at.first) / floorSlot
	if n < first {
		if at.first == nil {
			at.first = new([96]uint64)
		}
		return at.first[n*floorSlot : (n+1)*floorSlot]
	}
	if n -= first; at.second == nil {
		at.second = new([288]uint64)
	}
	return at.second[n*floorSlot : (n+1)*floorSlot]
}

// next returns a version that follows that of a machine.
func (p *floor) next(machine int) *floorVersion {
	*p.spare = *p.words[machine]
	p.spare.seq++
	return p.spare
}

// swap has a machine be at a version, in the cell and in the snapshot.
func (p *floor) swap(machine int, v *floorVersion) {
	p.spare = p.words[machine]
	p.words[machine], p.seen[machine], p.val[machine], p.free[machine] = v, v, v, v.free
	p.ids[machine][0]++
}

func (p *floor) place(task int, n need) bool {
	need := vector(n)
	for looked := 0; !resources.Fits(&need, &p.free[p.cursor]); looked++ {
		if looked == len(p.free) {
			return false
		}
		if p.cursor++; p.cursor == len(p.free) {
			p.cursor = 0
		}
	}
	v := p.next(p.cursor)
	at := 0
	for v.live[at/64]>>(at%64)&1 == 1 {
		at++
	}
	slot := p.slot(p.cursor, at)
	slot[0], slot[1], slot[2], slot[3] = v.seq, 1, uint64(need[0])|uint64(need[1])<<32, uint64(need[2])
	v.free[0], v.free[1], v.free[2] = v.free[0]-need[0], v.free[1]-need[1], v.free[2]-need[2]
	v.live[at/64] |= 1 << (at % 64)
	p.swap(p.cursor, v)
	p.held[task] = [2]uint64{uint64(p.cursor)<<20 | uint64(at), v.seq}
	return true
}

func (p *floor) release(task int) bool {
	machine, at := int(p.held[task][0]>>20), int(p.held[task][0]&(1<<20-1))
	slot := p.slot(machine, at)
	if slot[0] != p.held[task][1] {
		return false
	}
	v := p.next(machine)
	v.free[0] += int64(slot[2] & (1<<32 - 1))
	v.free[1] += int64(slot[2] >> 32)
	v.free[2] += int64(slot[3])
	v.live[at/64] &^= 1 << (at % 64)
	slot[0], slot[1] = 0, 0
	p.swap(machine, v)
	return true
}

// BenchmarkSteadyState measures a release and a placement at 85 %: by a mutex, by the floor of
// the cell's layout, and in a cell. The data of 50 machines are in a core's cache.
func BenchmarkSteadyState(b *testing.B) {
	for _, machines := range []int{50, 5000} {
		needs := mixed(machines * steadyTasks)
		s := setting{capacityAt(needs, machines, full), machines, len(needs)}
		for _, by := range []struct {
			name string
			open func(setting) (placer, error)
		}{
			{"mutex", openLock}, {"floor", func(s setting) (placer, error) { return newFloor(s), nil }}, {"cell", openCell},
		} {
			b.Run(fmt.Sprintf("machines=%d/%s", machines, by.name), func(b *testing.B) {
				p, err := by.open(s)
				require.NoError(b, err)
				round := churn(p, needs)
				for b.Loop() {
					if !round() {
						b.Fatal(errRound)
					}
				}
			})
		}
	}
}
