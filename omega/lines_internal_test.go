// Sizes are made for pointers of 64 bits: elsewhere schedulers may share lines.

//go:build !explore && (amd64 || arm64)

package omega

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

const cacheLine = 64

// memory is the set of cache lines that can be reached from some values, each with the
// types of the fields in it. Blank fields are padding and do not count.
type memory struct {
	lines map[uintptr][]string
	seen  map[reachedAt]bool
	stop  []reflect.Type // to which no pointer is followed
	raw   []rawBytes     // of fields without pointers in the way
}

type reachedAt struct {
	at unsafe.Pointer
	of reflect.Type
}

type rawBytes struct {
	at   unsafe.Pointer
	of   string
	then []byte
}

func reach(stop []reflect.Type, roots ...any) *memory {
	m := &memory{lines: map[uintptr][]string{}, seen: map[reachedAt]bool{}, stop: stop}
	for _, root := range roots {
		v := reflect.ValueOf(root)
		m.walk(v.UnsafePointer(), v.Type().Elem(), v.Type().Elem().Name())
	}
	return m
}

// follow walks the value at p unless it is there already.
func (m *memory) follow(p unsafe.Pointer, t reflect.Type) {
	if p == nil || t.Size() == 0 || slices.Contains(m.stop, t) || m.seen[reachedAt{p, t}] {
		return
	}
	m.seen[reachedAt{p, t}] = true
	m.walk(p, t, t.String())
}

func (m *memory) walk(p unsafe.Pointer, t reflect.Type, owner string) {
	v := reflect.NewAt(t, p).Elem()
	switch t.Kind() {
	case reflect.Struct:
		if strings.HasPrefix(t.Name(), "Pointer[") && t.PkgPath() == "sync/atomic" {
			m.note(p, t.Size(), owner)
			m.follow(*(*unsafe.Pointer)(p), t.Field(0).Type.Elem().Elem())
			return
		}
		for f := range t.Fields() {
			if f.Name != "_" {
				of := owner
				if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() {
					of = f.Type.String()
				}
				m.walk(unsafe.Add(p, f.Offset), f.Type, of)
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			m.walk(unsafe.Add(p, uintptr(i)*t.Elem().Size()), t.Elem(), owner)
		}
	case reflect.Slice:
		m.note(p, t.Size(), owner)
		for i := range v.Cap() {
			at := unsafe.Add(v.UnsafePointer(), uintptr(i)*t.Elem().Size())
			if !m.seen[reachedAt{at, t.Elem()}] {
				m.seen[reachedAt{at, t.Elem()}] = true
				m.walk(at, t.Elem(), t.String())
			}
		}
	case reflect.Pointer:
		m.note(p, t.Size(), owner)
		m.follow(v.UnsafePointer(), t.Elem())
	case reflect.Map:
		m.note(p, t.Size(), owner)
		for it := v.MapRange(); it.Next(); {
			if it.Value().Kind() == reflect.Pointer {
				m.follow(it.Value().UnsafePointer(), it.Value().Type().Elem())
			}
		}
	default:
		m.note(p, t.Size(), owner)
	}
}

func (m *memory) note(p unsafe.Pointer, size uintptr, of string) {
	m.raw = append(m.raw, rawBytes{p, of, slices.Clone(unsafe.Slice((*byte)(p), size))})
	for line := uintptr(p) / cacheLine; line <= (uintptr(p)+size-1)/cacheLine; line++ {
		if !slices.Contains(m.lines[line], of) {
			m.lines[line] = append(m.lines[line], of)
		}
	}
}

// changed returns the lines in which bytes are not as they were when m was made.
func (m *memory) changed() map[uintptr][]string {
	lines := map[uintptr][]string{}
	for _, r := range m.raw {
		if !slices.Equal(r.then, unsafe.Slice((*byte)(r.at), len(r.then))) {
			line := uintptr(r.at) / cacheLine
			if !slices.Contains(lines[line], r.of) {
				lines[line] = append(lines[line], r.of)
			}
		}
	}
	return lines
}

// shared returns the types that two sets of lines have in common.
func shared(a, b map[uintptr][]string) (both []string) {
	for line, of := range a {
		if others, ok := b[line]; ok {
			both = append(both, fmt.Sprint(of, " beside ", others))
		}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

// caller holds a program's values for one of its schedulers. Callers lie one beside the
// other.
type caller struct {
	s       *Scheduler
	tx      Txn
	granted int
}

func callers(tb testing.TB, machines, n int) (*Cell, []caller) {
	tb.Helper()
	c, err := NewCell(Config{})
	require.NoError(tb, err)
	for i := range machines {
		_, err = c.Add(Machine{Name: fmt.Sprint("node-", i), Capacity: resources.Vector{1000, 1000, 1000}})
		require.NoError(tb, err)
	}
	all := make([]caller, n)
	for i := range all {
		all[i].s, err = c.Register(fmt.Sprint("scheduler-", i), Limits{})
		require.NoError(tb, err)
		all[i].s.Snapshot()
	}
	for i := range all { // the first claim makes objects that later ones do not
		all[i].claim(tb, i*machines/n, 1)
	}
	return c, all
}

func (c *caller) claim(tb testing.TB, node int, need int64) {
	tb.Helper()
	c.tx.Reset()
	c.tx.Claim(Claim{Machine: c.s.snap.known(node).spec.id, Need: resources.Vector{need, need}})
	granted, err := c.s.Commit(&c.tx)
	require.NoError(tb, err)
	require.Equal(tb, 1, granted)
	c.granted++
}

// notOwned are the types that a scheduler's memory leads to and that are the cell's.
var notOwned = []reflect.Type{
	reflect.TypeFor[Cell](), reflect.TypeFor[owner](), reflect.TypeFor[object](), reflect.TypeFor[version](), reflect.TypeFor[spec](),
	reflect.TypeFor[tally](), reflect.TypeFor[record](), reflect.TypeFor[Mask](), reflect.TypeFor[extension](),
	reflect.TypeFor[resources.Space](), reflect.TypeFor[time.Location](),
}

func (c *caller) owned() *memory { return reach(notOwned, c.s, &c.tx) }

func TestScheduler_OwnsItsCacheLinesAlone(t *testing.T) {
	for _, machines := range []int{4, 5, 7, 20, 64, 100, 1000} {
		t.Run(fmt.Sprint("machines=", machines), func(t *testing.T) {
			_, all := callers(t, machines, 4)
			owned := make([]*memory, len(all))
			for i := range all {
				owned[i] = all[i].owned()
				for j := range i {
					require.Empty(t, shared(owned[i].lines, owned[j].lines), "schedulers %d and %d", i, j)
				}
			}
		})
	}
}

// Objects of whole cache lines begin with one: the runtime has size classes for them.
func TestScheduler_HasWholeCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{
		"Scheduler": unsafe.Sizeof(Scheduler{}), "owner": unsafe.Sizeof(owner{}), "counts": unsafe.Sizeof(counts{}), "Snapshot": unsafe.Sizeof(Snapshot{}),
		"item": unsafe.Sizeof(item{}), "tally": unsafe.Sizeof(tally{}), "object": unsafe.Sizeof(object{}),
	} {
		require.Zero(t, size%cacheLine, "%s has %d bytes: adjust the padding at its end", name, size)
	}
	require.EqualValues(t, 2*cacheLine, unsafe.Sizeof(object{}), "that of most machines")
	require.EqualValues(t, cacheLine, unsafe.Sizeof(wide{}), "that of others has one line more")
	var tx Txn // it begins anywhere
	require.GreaterOrEqual(t, unsafe.Offsetof(tx.Gang), uintptr(cacheLine))
	require.GreaterOrEqual(t, unsafe.Sizeof(tx), unsafe.Offsetof(tx.bad)+unsafe.Sizeof(tx.bad)+cacheLine)
}

// work is a call of a scheduler's on machines that no other scheduler uses. It can be done
// any number of times.
type work func(tb testing.TB, c *caller, nodes []int)

// commit claims on each of the machines, and returns what was granted.
func (c *caller) commit(tb testing.TB, gang bool, nodes []int) (held []AllocationID) {
	tb.Helper()
	c.tx.Reset()
	c.tx.Gang = gang
	for _, node := range nodes {
		c.tx.Claim(Claim{Machine: c.s.snap.known(node).spec.id, Need: resources.Vector{1, 1}})
	}
	granted, err := c.s.Commit(&c.tx)
	require.NoError(tb, err)
	require.Equal(tb, len(nodes), granted)
	for i := range nodes {
		a, _ := c.tx.Allocation(i)
		held = append(held, a)
	}
	return held
}

func (c *caller) release(tb testing.TB, gang bool, held []AllocationID) {
	tb.Helper()
	c.tx.Reset()
	c.tx.Gang = gang
	for _, a := range held {
		c.tx.Release(a)
	}
	_, err := c.s.Commit(&c.tx)
	require.NoError(tb, err)
}

var works = map[string]work{
	"claim": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		c.commit(tb, false, nodes[:1])
	},
	"claim and release": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		c.release(tb, false, c.commit(tb, false, nodes[:1]))
	},
	"claim, and a release without a transaction": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		require.NoError(tb, c.s.Release(c.commit(tb, false, nodes[:1])[0]))
	},
	"claims": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		c.release(tb, false, c.commit(tb, false, nodes))
	},
	"gang": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		c.commit(tb, true, nodes)
	},
	"gang and its release": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		c.release(tb, true, c.commit(tb, true, nodes))
	},
	"search, claim and refresh": func(tb testing.TB, c *caller, nodes []int) {
		tb.Helper()
		c.s.snap.Refresh(time.Time{})
		among := func(yield func(locality.Node) bool) { yield(locality.Node(nodes[0])) }
		_, found := c.s.snap.Find(Query{Need: resources.Vector{1, 1}, Among: among}, NextFit())
		require.True(tb, found)
		c.commit(tb, false, nodes[:1])
		c.s.snap.Refresh(time.Time{})
	},
}

// versionLines returns the cache lines of the versions in the words of machines.
func (c *caller) versionLines(nodes []int) map[uintptr][]string {
	lines := map[uintptr][]string{}
	for _, node := range nodes {
		raw := c.s.cell.words.at(uint32(node)).KeepFor(c.s.maker.Number())
		first, size := uintptr(unsafe.Pointer(raw)), unsafe.Sizeof(*raw)
		for line := first / cacheLine; line <= (first+size-1)/cacheLine; line++ {
			lines[line] = []string{"version in a word"}
		}
	}
	return lines
}

// Uncontended work of a scheduler writes the word, the slots and the slot of each of its
// machines, and the scheduler's tally and counts; besides, versions of its own. No other scheduler
// that works elsewhere writes one of these cache lines. It writes nothing that another
// scheduler owns.
func TestCommit_WritesNoCacheLineOfAnother(t *testing.T) {
	for name, work := range works {
		t.Run(name, func(t *testing.T) {
			const machines = 100
			cell, all := callers(t, machines, 2)
			a, b := &all[0], &all[1]
			nodes := [2][]int{{10, 11, 12}, {60, 61, 62}}
			for range 2 {
				for i, c := range []*caller{a, b} {
					work(t, c, nodes[i]) // makes the machines' first slots
				}
			}
			// What the other one has made is kept from here on.
			a.s.snap.Refresh(time.Time{})
			before, others := reach(nil, cell), b.versionLines(nodes[1])
			work(t, a, nodes[0])
			byA := before.changed()
			require.Empty(t, shared(byA, others))
			b.s.snap.Refresh(time.Time{})
			before, others = reach(nil, cell), a.versionLines(nodes[0])
			work(t, b, nodes[1])
			byB := before.changed()
			require.Empty(t, shared(byB, others))

			require.Empty(t, shared(byA, byB))
			require.Empty(t, shared(byA, b.owned().lines))
			require.Empty(t, shared(byB, a.owned().lines))
			versions := []string{reflect.TypeFor[object]().String(), reflect.TypeFor[live]().String(), reflect.TypeFor[rest]().String()}
			for _, by := range []map[uintptr][]string{byA, byB} {
				for line, of := range by {
					if slices.ContainsFunc(of, func(t string) bool { return slices.Contains(versions, t) }) {
						delete(by, line)
					}
				}
				require.LessOrEqual(t, len(by), 3*len(nodes[0])+2)
				for _, of := range by {
					require.Subset(t, []string{
						reflect.TypeFor[[]word]().String(), reflect.TypeFor[[]slots]().String(),
						reflect.TypeFor[[firstWords]atomics.Uint64]().String(), reflect.TypeFor[tally]().String(), reflect.TypeFor[atomics.Uint64]().String(),
					}, of)
				}
			}
		})
	}
}

// A refresh writes nothing of a cell in which no other scheduler has changed a machine, and
// else one cache line for each machine that has changed, of its version.
func TestRefresh_WritesOneLineOfEachChangedMachine(t *testing.T) {
	cell, all := callers(t, 100, 2)
	a, b := &all[0], &all[1]
	a.s.snap.Refresh(time.Time{})
	before := reach(nil, cell)
	require.Zero(t, a.s.snap.Refresh(time.Time{}))
	require.Empty(t, before.changed())

	b.commit(t, true, []int{60, 61, 70})
	lines := b.versionLines([]int{60, 61, 70})
	before = reach(nil, cell)
	require.Equal(t, 3, a.s.snap.Refresh(time.Time{}))
	byA := before.changed()
	require.Len(t, byA, 3)
	require.Len(t, shared(byA, lines), 1, "all of them are of versions")
	require.Empty(t, shared(byA, b.owned().lines))
}
