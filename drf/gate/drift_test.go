package gate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// drifter is a seat as the bound on how far shares drift apart sees it.
type drifter struct {
	*gate.Seat
	weight float64
	open   resources.Vector // told yes for this, and not settled
	asked  bool             // it waits, as far as it knows
	task   float64          // the largest it was told yes for
	undone float64          // the largest it undid
	ahead  []float64        // of each other one, when both began to wait
}

func (d *drifter) share(v resources.Vector) float64 {
	return float64(max(v[0], v[1])) / 1000 / d.weight
}

// The bound of the Gate's doc holds after every step, while nothing is returned. A
// waiting seat is ahead of another waiting seat by one task of its own at most, and
// by the amount that the other has undone.
func TestGate_DriftsNoFurtherThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := gate.New(resources.Vector{1000, 1000}, time.Hour)
		require.NoError(t, err)
		all := make([]*drifter, rapid.IntRange(2, 4).Draw(t, "seats"))
		for i := range all {
			d := &drifter{weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")), ahead: make([]float64, len(all))}
			d.Seat, err = g.Join(d.weight)
			require.NoError(t, err)
			all[i] = d
		}
		index := rapid.IntRange(0, len(all)-1)
		begin := func(i int) {
			for j, o := range all {
				all[i].ahead[j], o.ahead[i] = all[i].Share()-o.Share(), o.Share()-all[i].Share()
			}
			all[i].asked, all[i].task, all[i].undone = true, 0, 0
		}
		settle := func(t *rapid.T, settle func(d *drifter)) {
			d := all[index.Draw(t, "seat")]
			if d.open == (resources.Vector{}) {
				t.Skip("no question is open")
			}
			settle(d)
			d.open = resources.Vector{}
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				i := index.Draw(t, "seat")
				d := all[i]
				if d.open != (resources.Vector{}) {
					t.Skip("one question at a time")
				}
				need := resources.Vector{rapid.Int64Range(1, 20).Draw(t, "first"), rapid.Int64Range(0, 20).Draw(t, "second")}
				if !d.asked {
					begin(i)
				}
				least := math.Inf(1)
				for j, o := range all {
					if j != i && o.asked {
						least = min(least, o.Share())
					}
				}
				mine := d.Share()
				yes, err := d.Ask(need, clock(0))
				require.NoError(t, err)
				require.Equal(t, mine <= least, yes, "it has %v, the poorest other one %v", mine, least)
				if yes {
					d.open, d.task = need, max(d.task, d.share(need))
				}
			},
			"keep": func(t *rapid.T) { settle(t, func(d *drifter) { d.Keep() }) },
			"undo": func(t *rapid.T) {
				settle(t, func(d *drifter) {
					require.NoError(t, d.Undo(d.open))
					d.undone = max(d.undone, d.share(d.open))
				})
			},
			"miss": func(t *rapid.T) {
				settle(t, func(d *drifter) {
					_, err := d.Miss(d.open, clock(0))
					require.NoError(t, err)
					d.asked = false
				})
			},
			"rest": func(t *rapid.T) {
				d := all[index.Draw(t, "seat")]
				if d.open != (resources.Vector{}) {
					t.Skip("it is about to take something")
				}
				d.Rest()
				d.asked = false
			},
			"": func(t *rapid.T) {
				for i, d := range all {
					for j, o := range all {
						if i != j && d.asked && o.asked {
							require.LessOrEqual(t, d.Share()-o.Share(), max(d.ahead[j], d.task)+o.undone+1e-12, "seat %d, of seat %d", i, j)
						}
					}
				}
			},
		})
	})
}

// The same by goroutines, whatever their speed.
func TestGate_DriftsNoFurtherInParallel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // the kernel stops some between asking and taking
	for seed := range uint64(2) {
		g, err := gate.New(resources.Vector{1e6, 1e6, 1e6}, time.Hour)
		require.NoError(t, err)
		all := make([]*racer, 8)
		for i := range all {
			all[i] = &racer{weight: float64(1 + i%3), conflicts: i % 4}
			all[i].Seat, err = g.Join(all[i].weight)
			require.NoError(t, err)
			// All wait from the beginning, with nothing.
			ask(t, all[i].Seat, resources.Vector{1}, clock(0))
			all[i].Keep()
			all[i].note(resources.Vector{1})
		}
		errs := make([]error, len(all))
		var wg sync.WaitGroup
		for i, r := range all {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			wg.Go(func() { errs[i] = r.run(rng, all) })
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
	}
}

// racer takes tasks as fast as it may, but for some conflicts out of ten.
type racer struct {
	*gate.Seat
	weight    float64
	conflicts int
	largest   atomic.Uint64 // share of its largest task: float bits
	rests     atomic.Bool
}

func (r *racer) note(need resources.Vector) {
	task := float64(max(need[0], need[1], need[2])) / 1e6 / r.weight
	r.largest.Store(math.Float64bits(max(task, math.Float64frombits(r.largest.Load()))))
}

func (r *racer) run(rng *rand.Rand, all []*racer) error {
	defer func() { r.rests.Store(true); r.Rest() }()
	for tasks := 0; tasks < 100; {
		var need resources.Vector
		need[rng.IntN(3)] = 1 + rng.Int64N(100)
		r.note(need)
		yes, err := r.Ask(need, clock(0))
		if err != nil {
			return err
		}
		mine, own := r.Share(), math.Float64frombits(r.largest.Load())
		for j, o := range all {
			theirs, undone := o.Share(), 0.0
			if o.conflicts > 0 {
				undone = math.Float64frombits(o.largest.Load())
			}
			if o != r && !o.rests.Load() && mine > theirs+own+undone+1e-12 {
				return fmt.Errorf("a seat has %v, seat %d %v; a task is %v at most, and one undone %v", mine, j, theirs, own, undone)
			}
		}
		switch {
		case !yes:
			runtime.Gosched()
		case rng.IntN(10) < r.conflicts:
			if err := r.Undo(need); err != nil {
				return err
			}
		default:
			r.Keep()
			tasks++
		}
	}
	return nil
}
