package omega_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// gangBench is a cell on which gangs come and go.
type gangBench struct {
	b     *testing.B
	cell  *omega.Cell
	s     *omega.Scheduler
	snap  *omega.Snapshot
	needs []resources.Vector
	used  []int // by node, the last gang that had a machine there
	gangs int
	each  int // claims of a gang on one machine
	gang  omega.Txn
	tx    omega.Txn
	held  []omega.AllocationID
	at    []omega.MachineID // of the gang
	full  omega.MachineID   // a machine of the cell
	other *omega.Scheduler  // that commits on the machines of a gang before the gang, or nil
}

// BenchmarkGang measures a gang that is placed, claimed and released, by the needs of its
// claims and by their machines. There are as many machines as claims ("spread"), or
// sixteen claims on each.
func BenchmarkGang(b *testing.B) {
	mixed := []resources.Vector{{100, 128, 1}, {200, 64, 0}, {50, 512, 0}, {400, 256, 2}}
	for _, at := range []string{"spread", "together"} {
		for _, needs := range []string{"like", "unlike"} {
			for _, size := range []int{2, 10, 100, 1000} {
				b.Run(fmt.Sprintf("at=%s/needs=%s/size=%d", at, needs, size), func(b *testing.B) {
					g := newGangBench(b, 5000, 10, mixed)
					if g.each = 1; at == "together" {
						g.each = 16
					}
					if needs == "like" {
						g.needs = mixed[:1]
					}
					b.ReportAllocs()
					for b.Loop() {
						if err := errors.Join(g.place(size), g.release()); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkGangInPlace measures a gang each claim of which preempts one allocation, or
// exchanges one for an allocation like it. To put the next victims in place is not timed.
func BenchmarkGangInPlace(b *testing.B) {
	for _, of := range []string{"victims", "exchanges"} {
		for _, size := range []int{2, 10, 100, 1000} {
			b.Run(fmt.Sprintf("of=%s/size=%d", of, size), func(b *testing.B) {
				const machines = 1000
				need := resources.Vector{1000, 1 << 20, 1}
				cell, ids := newCell(b, machines, need)
				low, high := ranked(b, cell, "low"), ranked(b, cell, "high")
				tx := omega.Txn{Gang: true, Now: time.Unix(1, 0), Grace: omega.AtOnce}
				held := make([]omega.AllocationID, size)
				claim := func(s *omega.Scheduler, tx *omega.Txn) {
					if n, err := s.Commit(tx); n != size || err != nil {
						b.Fatal(n, err, tx.Err(0))
					}
					for i := range size {
						held[i], _ = tx.Allocation(i)
					}
				}
				tx.Reset()
				for i := range size {
					tx.Claim(omega.Claim{Machine: ids[i%machines], Need: need})
				}
				claim(low, &tx)
				b.ReportAllocs()
				for b.Loop() {
					tx.Reset()
					if of == "exchanges" {
						for i, a := range held {
							tx.Exchange([]omega.AllocationID{a}, omega.Claim{Machine: ids[i%machines], Need: need})
						}
						claim(low, &tx)
						continue
					}
					for i := range held {
						tx.Claim(omega.Claim{Machine: ids[i%machines], Need: need, Precedence: 1, Victims: held[i : i+1 : i+1]})
					}
					victims := append([]omega.AllocationID(nil), held...)
					claim(high, &tx)
					b.StopTimer()
					for i := range size {
						require.NoError(b, low.Release(victims[i]))
						require.NoError(b, high.Release(held[i]))
					}
					tx.Reset()
					for i := range size {
						tx.Claim(omega.Claim{Machine: ids[i%machines], Need: need})
					}
					claim(low, &tx)
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkGangOf100 measures a gang of 100 unlike claims over as many machines that is
// placed, claimed and released, or refused:
//
//   - with all kinds of resources, or three;
//   - on machines that are full by half, or by 90 %;
//   - beside another scheduler, which claims and releases on each of its machines between
//     its search and its commit. That is not timed;
//   - refused for its last claim, which has no room.
func BenchmarkGangOf100(b *testing.B) {
	const machines, size = 5000, 100
	three := []resources.Vector{{100, 128, 1}, {200, 64, 0}, {50, 512, 0}, {400, 256, 2}}
	all := []resources.Vector{
		{100, 128, 1, 10, 20, 1, 5, 7},
		{200, 64, 2, 20, 10, 1, 6, 8},
		{50, 512, 3, 30, 30, 1, 7, 9},
		{400, 256, 4, 40, 40, 1, 8, 10},
	}
	for _, kinds := range []int{3, 8} {
		for _, full := range []int{50, 90} {
			for _, as := range []string{"alone", "beside", "refused"} {
				b.Run(fmt.Sprintf("kinds=%d/full=%d/as=%s", kinds, full, as), func(b *testing.B) {
					mixed := three
					if kinds == len(all[0]) {
						mixed = all
					}
					g := newGangBench(b, machines, full/5, mixed)
					g.each = 1
					if as == "beside" {
						g.other = register(b, g.cell, "other")
					}
					b.ReportAllocs()
					for b.Loop() {
						if as != "refused" {
							if err := errors.Join(g.place(size), g.release()); err != nil {
								b.Fatal(err)
							}
							continue
						}
						if err := g.search(size - 1); err != nil {
							b.Fatal(err)
						}
						g.gang.Claim(omega.Claim{Machine: g.full, Need: g.needs[0].Scale(1000)})
						if n, err := g.s.Commit(&g.gang); n != 0 || err != nil {
							b.Fatal(n, err)
						}
					}
				})
			}
		}
	}
}

// newGangBench returns a cell of machines that have room for 20 of each of the mixed needs,
// and have so many.
func newGangBench(b *testing.B, machines, each int, mixed []resources.Vector) *gangBench {
	b.Helper()
	names := []string{"cpu", "memory", "gpu", "disk", "net", "port", "license", "slot"}
	kinds := len(names)
	for kinds > 1 && !slices.ContainsFunc(mixed, func(v resources.Vector) bool { return v[kinds-1] > 0 }) {
		kinds--
	}
	var of []resources.Dimension
	for _, name := range names[:kinds] {
		of = append(of, resources.Dimension{Name: name})
	}
	space, err := resources.NewSpace(of...)
	require.NoError(b, err)
	cell, err := omega.NewCell(omega.Config{Space: space})
	require.NoError(b, err)
	var sum resources.Vector
	for _, need := range mixed {
		sum = sum.Add(need)
	}
	for i := range machines {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: sum.Scale(20)})
		require.NoError(b, err)
	}
	g := &gangBench{b: b, cell: cell, s: register(b, cell, "bench"), needs: mixed, used: make([]int, machines), gang: omega.Txn{Gang: true}}
	g.snap = g.s.Snapshot()
	for m := range cell.Machines() {
		g.tx.Reset()
		g.full = m.ID
		for i := range each * len(mixed) {
			g.tx.Claim(omega.Claim{Machine: m.ID, Need: mixed[i%len(mixed)]})
		}
		_, err := g.s.Commit(&g.tx)
		require.NoError(b, err)
	}
	return g
}

// place finds room for a gang, and claims it.
func (g *gangBench) place(size int) error {
	if err := g.search(size); err != nil {
		return err
	}
	if g.other != nil {
		g.b.StopTimer()
		if err := g.change(); err != nil {
			return err
		}
		g.b.StartTimer()
	}
	if n, err := g.s.Commit(&g.gang); n != size || err != nil {
		return errors.Join(err, g.gang.Err(0))
	}
	g.held = g.held[:0]
	for i := range size {
		a, _ := g.gang.Allocation(i)
		g.held = append(g.held, a)
	}
	return nil
}

// search finds room for a gang, and adds its claims to the transaction.
func (g *gangBench) search(size int) error {
	g.gangs++
	g.gang.Reset()
	g.at = g.at[:0]
	allow := func(n locality.Node) bool { return g.used[n] != g.gangs }
	for i := 0; i < size; {
		q := omega.Query{Need: g.needs[g.gangs%len(g.needs)], Allow: allow}
		m, ok := g.snap.Find(q, omega.NextFit())
		if !ok {
			return errors.New("no room")
		}
		g.used[m.Node()] = g.gangs
		g.at = append(g.at, m)
		for range min(g.each, size-i) {
			g.gang.Claim(omega.Claim{Machine: m, Need: g.needs[i%len(g.needs)]})
			i++
		}
	}
	return nil
}

// change claims and releases with the other scheduler on each machine of the gang.
func (g *gangBench) change() error {
	for _, m := range g.at {
		g.tx.Reset()
		g.tx.Claim(omega.Claim{Machine: m, Need: g.needs[0]})
		if n, err := g.other.Commit(&g.tx); n != 1 || err != nil {
			return errors.Join(err, g.tx.Err(0))
		}
		a, _ := g.tx.Allocation(0)
		if err := g.other.Release(a); err != nil {
			return err
		}
	}
	return nil
}

// release gives the gang back, in one commit.
func (g *gangBench) release() error {
	g.tx.Reset()
	for _, a := range g.held {
		g.tx.Release(a)
	}
	_, err := g.s.Commit(&g.tx)
	return err
}

// floorVersion is an object of the size of a machine's version.
type floorVersion struct {
	_     [4]*int
	words [12]uint64
}

// BenchmarkGangFloor measures the work that every gang over machines of its own has to
// do:
//
//   - for each machine two versions, written anew and swapped into its word;
//   - the locked instructions of a slot that is taken and given back;
//   - two copies for the snapshot.
//
// There is no search, no check, and no decision.
func BenchmarkGangFloor(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			const machines = 5000
			words := make([]atomic.Pointer[floorVersion], machines)
			slots := make([][96]atomic.Uint64, machines)
			free := make([]resources.Vector, machines)
			for i := range words {
				words[i].Store(&floorVersion{})
			}
			spare := []*floorVersion{{}}
			swap := func(node int) {
				old := words[node].Load()
				next := spare[len(spare)-1]
				*next = *old
				next.words[0]++
				if !words[node].CompareAndSwap(old, next) {
					b.Fatal("another goroutine swaps")
				}
				spare[len(spare)-1] = old
				free[node] = resources.Vector{int64(next.words[0])}
			}
			first := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range size {
					slot := slots[(first+i)%machines][40:]
					slot[1].CompareAndSwap(0, 1) // taken
					slot[2].Store(uint64(i))     // its need
					slot[0].Store(uint64(first)) // its number
					swap((first + i) % machines)
				}
				for i := range size {
					slot := slots[(first+i)%machines][40:]
					slot[0].CompareAndSwap(uint64(first), 1<<63) // being released
					swap((first + i) % machines)
					slot[0].Store(1 << 62) // vacant
					slot[1].Store(0)
				}
				first = (first + size) % machines
			}
		})
	}
}
