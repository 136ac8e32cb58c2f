package main

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// floor is a placer that moves the data of a cell, in the places that they have there. It
// makes no check, and has no other reader. Without exchanges it is the least that next fit
// takes with this layout. With exchanges it executes the locked instructions of a cell, too.
type floor struct {
	placer    // of which nothing is called
	exchanges bool

	words  []*floorVersion
	slots  []floorSlots
	seen   []*floorVersion // with val, free and ids: the snapshot
	val    []*floorVersion
	free   []resources.Vector
	ids    [][2]uint64
	spare  *floorVersion
	held   [][2]uint64 // machine and slot, and version, by task
	cursor int
	tally  atomic.Int64
}

// exchange executes that many locked instructions on a line that is in the cache, if the
// floor has any.
func (p *floor) exchange(n int) {
	for range n {
		if p.exchanges {
			p.tally.Add(1)
		}
	}
}

// set stores a word of a slot, by an exchange if the floor has these.
func (p *floor) set(word *uint64, to uint64) {
	if !p.exchanges {
		*word = to
	} else if *word != to {
		atomic.StoreUint64(word, to)
	}
}

// floorVersion has the 128 bytes of a machine's version in a cell.
type floorVersion struct {
	_    [4]uint64
	free [4]int64
	seq  uint64
	live [3]uint64
	_    [4]uint64
}

// floorSlots are the slots of a machine, of 32 bytes as in a cell of three kinds.
type floorSlots struct {
	first  *[96]uint64
	second *[288]uint64
	_      [2]*uint64
}

const floorSlot = 4 // words

func newFloor(s setting, exchanges bool) *floor {
	p := &floor{
		exchanges: exchanges,
		words:     make([]*floorVersion, s.machines), slots: make([]floorSlots, s.machines),
		seen: make([]*floorVersion, s.machines), val: make([]*floorVersion, s.machines),
		free: make([]resources.Vector, s.machines), ids: make([][2]uint64, s.machines),
		spare: new(floorVersion), held: make([][2]uint64, s.tasks),
	}
	for i := range p.words {
		p.free[i] = vector(s.capacity)
		p.words[i] = &floorVersion{free: [4]int64(p.free[i][:4])}
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
	p.exchange(1)
	p.words[machine], p.seen[machine], p.val[machine] = v, v, v
	copy(p.free[machine][:], v.free[:])
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
	p.exchange(4) // the scheduler, the transaction, and the usage of two kinds
	p.set(&slot[1], 1)
	p.set(&slot[2], uint64(need[0])|uint64(need[1])<<32)
	p.set(&slot[3], uint64(need[2]))
	p.set(&slot[0], v.seq)
	v.free[0], v.free[1], v.free[2] = v.free[0]-need[0], v.free[1]-need[1], v.free[2]-need[2]
	v.live[at/64] |= 1 << (at % 64)
	p.swap(p.cursor, v)
	p.exchange(2) // the transaction, and the scheduler
	p.held[task] = [2]uint64{uint64(p.cursor)<<20 | uint64(at), v.seq}
	return true
}

func (p *floor) release(task int) bool {
	machine, at := int(p.held[task][0]>>20), int(p.held[task][0]&(1<<20-1))
	slot := p.slot(machine, at)
	if slot[0] != p.held[task][1] {
		return false
	}
	p.exchange(2)
	p.set(&slot[0], slot[0]|1<<63)
	v := p.next(machine)
	v.free[0] += int64(slot[2] & (1<<32 - 1))
	v.free[1] += int64(slot[2] >> 32)
	v.free[2] += int64(slot[3])
	v.live[at/64] &^= 1 << (at % 64)
	p.swap(machine, v)
	p.exchange(3)
	p.set(&slot[0], 1<<62)
	p.set(&slot[1], 0)
	p.exchange(2)
	return true
}

// BenchmarkSteadyState measures a release and a placement at 85 %. They are made under a
// mutex, by the floor without and with exchanges, and in a cell. The data of 50 machines are in a core's cache.
func BenchmarkSteadyState(b *testing.B) {
	for _, machines := range []int{50, 5000} {
		needs := mixed(machines * steadyTasks)
		s := setting{capacityAt(needs, machines, full), machines, len(needs)}
		for _, by := range []struct {
			name string
			open func(setting) (placer, error)
		}{
			{"mutex", openLock},
			{"floor", func(s setting) (placer, error) { return newFloor(s, false), nil }},
			{"floor with exchanges", func(s setting) (placer, error) { return newFloor(s, true), nil }},
			{"cell", openCell},
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
