package reclaim_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/reclaim"
)

// pair is a value that is only right as a whole.
type pair struct{ a, b int }

type (
	word   = reclaim.Word[pair]
	object = reclaim.Object[pair]
)

// next returns an object of the maker's to be put into a word.
func next(m *reclaim.Maker[pair]) *object {
	obj := m.Spare()
	if obj == nil {
		obj = &object{}
		m.Own(obj)
	}
	return obj
}

// put swaps a word for an object of the maker's own, and retires what was there.
func put(t *testing.T, w *word, m *reclaim.Maker[pair], v pair) (in, out *object) {
	t.Helper()
	out = w.KeepFor(m.Number())
	in = next(m)
	in.V = v
	require.True(t, w.CompareAndSwap(out, in))
	m.Retire(out)
	return in, out
}

func TestMaker_UsesWhatItRetired(t *testing.T) {
	var w word
	m := reclaim.NewMaker[pair](1)
	w.Store(&object{V: pair{1, 1}})
	first, _ := put(t, &w, &m, pair{2, 2})
	second, out := put(t, &w, &m, pair{3, 3})
	require.Same(t, first, out)
	third, _ := put(t, &w, &m, pair{4, 4})
	require.Same(t, first, third, "it was in no other hands")
	require.Equal(t, pair{4, 4}, w.Keep().V)
	require.Equal(t, pair{3, 3}, second.V, "the spare is not written before it is used")
}

func TestMaker_LeavesToOthersWhatTheyHave(t *testing.T) {
	taken := map[string]func(w *word) *object{
		"a reader's":          (*word).Keep,
		"another maker's":     func(w *word) *object { return w.KeepFor(2) },
		"read when it was in": func(w *word) *object { seen := w.Keep(); w.Keep(); return seen },
	}
	for name, take := range taken {
		t.Run(name, func(t *testing.T) {
			var w word
			m := reclaim.NewMaker[pair](1)
			w.Store(&object{})
			first, _ := put(t, &w, &m, pair{1, 1})
			require.Same(t, first, take(&w))
			for i := 2; i < 9; i++ {
				in, _ := put(t, &w, &m, pair{i, i})
				require.NotSame(t, first, in)
			}
			require.Equal(t, pair{1, 1}, first.V)
		})
	}
}

func TestMaker_LeavesWhatItHasNotMade(t *testing.T) {
	var w word
	one, two := reclaim.NewMaker[pair](1), reclaim.NewMaker[pair](2)
	foreign := &object{V: pair{7, 7}}
	w.Store(foreign)
	put(t, &w, &one, pair{1, 1})
	in, _ := put(t, &w, &one, pair{2, 2})
	require.NotSame(t, foreign, in)
	_, out := put(t, &w, &two, pair{3, 3})
	require.Same(t, in, out)
	for i := range 4 {
		again, _ := put(t, &w, &two, pair{i, i})
		require.NotSame(t, out, again)
	}
	require.Equal(t, pair{2, 2}, out.V)
}

func TestMaker_UsesWhatNoWordHad(t *testing.T) {
	m := reclaim.NewMaker[pair](1)
	obj := next(&m)
	m.Return(obj)
	require.Same(t, obj, m.Spare())
	require.Nil(t, m.Spare())
}

// Objects beyond the bound, and objects that were given out and dropped, belong to the
// collector, whatever the maker had before.
func TestMaker_KeepsABoundedNumberAlive(t *testing.T) {
	m := reclaim.NewMaker[pair](1)
	for range reclaim.Spares + 1 {
		obj := &object{}
		m.Own(obj)
		m.Return(obj)
	}
	var given []weak.Pointer[object]
	for obj := m.Spare(); obj != nil; obj = m.Spare() {
		given = append(given, weak.Make(obj))
	}
	require.Len(t, given, reclaim.Spares)
	runtime.GC()
	for i, obj := range given {
		require.Nil(t, obj.Value(), "object %d", i)
	}
	runtime.KeepAlive(&m)
}

// Numbers of makers come from a counter that may pass the largest one that an object has
// room for.
func TestMaker_WithoutANumberUsesNothingAgain(t *testing.T) {
	for _, number := range []uint64{0, 1 << 32, 1<<32 + 1} {
		var w word
		m := reclaim.NewMaker[pair](number)
		w.Store(&object{})
		var all []*object
		for i := range 4 {
			in, _ := put(t, &w, &m, pair{i, i})
			require.NotContains(t, all, in)
			all = append(all, in)
			require.Nil(t, m.Spare())
		}
	}
}

func TestSeen_IsTheObjectThatWasSeen(t *testing.T) {
	var w word
	first, second := &object{}, &object{}
	w.Store(first)
	seen := w.Peek()
	require.True(t, seen.Is(first))
	require.True(t, w.CompareAndSwap(first, second))
	require.True(t, seen.Is(first))
	require.False(t, w.Peek().Is(first))
	require.False(t, seen.Is(second))
	require.False(t, seen.Touch(), "no maker")
	require.Same(t, first, seen.For(1), "never used again")

	m := reclaim.NewMaker[pair](1)
	own, _ := put(t, &w, &m, pair{1, 1})
	require.Same(t, own, w.Peek().For(1))
	require.Nil(t, w.Peek().For(2), "it is to be kept first")
}

// Makers that swap a few words as fast as they can, and readers: what is read is whole,
// and stays what it was. The race detector finds a read of what is written anew.
func TestMaker_WritesNothingThatOthersRead(t *testing.T) {
	const words, makers, readers, times = 3, 2, 2, 20_000
	var shared [words]word
	for i := range shared {
		shared[i].Store(&object{})
	}
	var wg sync.WaitGroup
	errs := make([]error, makers+readers)
	for i := range makers {
		wg.Go(func() {
			m := reclaim.NewMaker[pair](uint64(i + 1))
			for n := 0; n < times; {
				w := &shared[(n+i)%words]
				old := w.KeepFor(m.Number())
				if old.V.a != old.V.b {
					errs[i] = fmt.Errorf("%v before a swap", old.V)
				}
				next := next(&m)
				next.V = pair{old.V.a + 1, old.V.b + 1}
				if w.CompareAndSwap(old, next) {
					m.Retire(old)
					n++
				} else {
					m.Return(next)
				}
			}
		})
	}
	for i := range readers {
		wg.Go(func() {
			for n := range times {
				w := &shared[(n+i)%words]
				obj := w.Keep()
				was, late := obj.V, w.Keep().V
				if obj.V != was || was.a != was.b || late.a < was.a {
					errs[makers+i] = fmt.Errorf("%v, then %v, and later %v", was, obj.V, late)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	sum := 0
	for i := range shared {
		sum += shared[i].Keep().V.a
	}
	require.Equal(t, makers*times, sum, "no swap is lost")
}
