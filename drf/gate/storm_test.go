package gate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// storm is a cell of machines that schedulers of all kinds take from at once. Its
// time is the number of reads of the clock.
type storm struct {
	gate *gate.Gate
	tick atomic.Int64
	ends chan func() error // tasks
	mu   sync.Mutex
	free [8]resources.Vector
	gone []*gate.Seat
}

func (st *storm) now() time.Time { return time.Unix(1, st.tick.Add(1)) }

func (st *storm) take(need resources.Vector) (machine int, found bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range st.free {
		if left, fits := st.free[i].Sub(need); fits {
			st.free[i] = left
			return i, true
		}
	}
	return 0, false
}

// end is a task's: by another goroutine than its scheduler's.
func (st *storm) end(s *gate.Seat, machine int, need resources.Vector) func() error {
	return func() error {
		st.mu.Lock()
		st.free[machine] = st.free[machine].Add(need)
		st.mu.Unlock()
		return s.Return(need)
	}
}

// leave lets another goroutine call Leave for s.
func (st *storm) leave(s *gate.Seat, need resources.Vector) {
	st.mu.Lock()
	st.gone = append(st.gone, s)
	st.mu.Unlock()
	st.ends <- func() error {
		s.Leave()
		return s.Return(need)
	}
}

// schedule goes on until it has begun so many tasks. Sometimes it dies between a
// yes and the call that has to follow, and another one takes over.
func (st *storm) schedule(rng *rand.Rand, need resources.Vector, tasks int, mortal bool) error {
	seat, err := st.gate.Join(1)
	for questions := 0; tasks > 0 && err == nil; questions++ {
		if questions > 1e7 {
			return fmt.Errorf("a scheduler that needs %v is refused for ever", need)
		}
		yes, failed := seat.Ask(need, st.now())
		if failed != nil {
			return failed
		}
		switch machine, found := 0, false; {
		case !yes:
			runtime.Gosched()
		case mortal && rng.IntN(100) == 0:
			st.leave(seat, need)
			seat, err = st.gate.Join(1)
		case rng.IntN(10) == 0:
			err = seat.Undo(need)
		default:
			if machine, found = st.take(need); found {
				seat.Keep()
				tasks--
				st.ends <- st.end(seat, machine, need)
				break
			}
			_, err = seat.Miss(need, st.now())
			runtime.Gosched()
		}
		if rng.IntN(200) == 0 {
			seat.Rest()
		}
	}
	if err == nil {
		st.leave(seat, resources.Vector{})
	}
	return err
}

// Everything at once: schedulers that conflict, miss, rest, die
// and are replaced, while others end their tasks and have them leave. Each
// gets its tasks done, and nothing is left.
func TestGate_StandsAStorm(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	const schedulers, tasks = 12, 200
	g, err := gate.New(resources.Vector{64, 64}, 500)
	require.NoError(t, err)
	st := &storm{gate: g, ends: make(chan func() error, 40)}
	for i := range st.free {
		st.free[i] = resources.Vector{8, 8}
	}
	var wg, ending sync.WaitGroup
	errs := make([]error, schedulers+2)
	for i := range schedulers {
		need := resources.Vector{1 + int64(i%3), 1 + int64(i%2)}
		if i == 0 {
			need = resources.Vector{8, 8} // a machine
		}
		wg.Go(func() { errs[i] = st.schedule(rand.New(rand.NewPCG(1, uint64(i))), need, tasks, i > 1) })
	}
	for i := range 2 {
		ending.Go(func() {
			for end := range st.ends {
				errs[schedulers+i] = errors.Join(errs[schedulers+i], end())
			}
		})
	}
	wg.Wait()
	close(st.ends)
	ending.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Greater(t, len(st.gone), schedulers, "none has died")
	for _, s := range st.gone {
		require.Zero(t, s.Usage())
	}
	for _, f := range st.free {
		require.Equal(t, resources.Vector{8, 8}, f)
	}
	last, err := g.Join(1)
	require.NoError(t, err)
	require.True(t, ask(t, last, resources.Vector{64}, st.now()))
}

// both runs two functions at once, a step of each at a time.
func both(steps int, prepare func(step int), a, b func(step int), check func(step int)) {
	begin := [2]chan int{make(chan int), make(chan int)}
	var done sync.WaitGroup
	for i, f := range []func(int){a, b} {
		go func() {
			for step := range begin[i] {
				f(step)
				done.Done()
			}
		}()
	}
	for step := range steps {
		prepare(step)
		done.Add(2)
		begin[step%2] <- step
		begin[1-step%2] <- step
		done.Wait()
		check(step)
	}
	close(begin[0])
	close(begin[1])
}

// A seat that rests while another one is about to wake it stays at rest.
func TestGate_WakingDoesNotUndoRest(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	rich, poor, other := seats[0], seats[1], seats[2]
	for _, s := range []*gate.Seat{rich, other} {
		require.True(t, ask(t, s, resources.Vector{10}, clock(0)))
		s.Keep()
		s.Rest()
	}
	both(20_000, func(int) {
		require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
		miss(t, poor, resources.Vector{50}, clock(0))
		require.NoError(t, other.Return(resources.Vector{}))
	}, func(int) {
		if ask(t, rich, resources.Vector{1}, clock(0)) {
			_ = rich.Undo(resources.Vector{1})
		}
	}, func(int) { poor.Rest() }, func(int) {
		require.True(t, ask(t, rich, resources.Vector{1}, clock(0)))
		require.NoError(t, rich.Undo(resources.Vector{1}))
	})
}
