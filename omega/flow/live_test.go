package flow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRound_IsDeterministic(t *testing.T) {
	var first []string
	for try := range 4 {
		rng := rand.New(rand.NewPCG(7, 7))
		y := newYard(t, resources.Vector{2, 2})
		for range 12 {
			y.addMachine(t, resources.Vector{4 + rng.Int64N(5), 4 + rng.Int64N(5)})
		}
		for _, j := range []job{"a", "b", "c"} {
			y.addJob(t, j, 1, 12)
		}
		var log []string
		for range 30 {
			for range 6 {
				y.add(t, []job{"a", "b", "c"}[rng.IntN(3)], resources.Vector{rng.Int64N(4), 1 + rng.Int64N(3)}, locality.Node(rng.IntN(12)))
			}
			y.take(t, machineAt(y.cell, rng.IntN(12)), resources.Vector{2, 1}, omega.Precedence(rng.IntN(2)))
			if rng.IntN(2) == 0 && len(y.theirs) > 0 {
				y.giveBack(t, 0)
			}
			r := y.round(t)
			log = append(log, fmt.Sprint(starts(r), stops(r), r.Running, r.Unfit, r.Conflicts))
			for _, n := range append(stops(r), y.names[:len(y.names)/4]...) {
				switch w := y.tasks[n]; {
				case w == nil:
				case w.stop && rng.IntN(2) == 0:
					y.stopped(t, n)
				case rng.IntN(2) == 0:
					y.done(t, n)
				}
			}
			y.pass(t, time.Second)
		}
		if try == 0 {
			first = log
		}
		require.Equal(t, first, log)
	}
}

func TestRound_BesideLiveRivals(t *testing.T) {
	y := newYard(t, one)
	for range 20 {
		y.addMachine(t, resources.Vector{4})
	}
	y.addJob(t, "a", 10, 60)
	y.addJob(t, "b", 10, 60)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 2 {
		s, err := y.cell.Register(fmt.Sprint("live-", i), omega.Limits{Highest: 1})
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		all.Go(func() {
			var held []omega.AllocationID
			for ctx.Err() == nil {
				tx := omega.Txn{Now: start, Grace: time.Hour}
				claim := omega.Claim{Machine: machineAt(y.cell, rng.IntN(20)), Need: resources.Vector{1 + rng.Int64N(2)}}
				if rng.IntN(8) == 0 {
					claim.Precedence = 1
					claim.Victims, _ = y.cell.Victims(claim.Machine, claim.Need, 1)
				}
				tx.Claim(claim)
				if _, err := s.Commit(&tx); err != nil {
					t.Error(err)
					return
				}
				if id, ok := tx.Allocation(0); ok {
					held = append(held, id)
				}
				if len(held) > 12 {
					_ = s.Release(held[0]) // it may have been preempted
					held = held[1:]
				}
			}
			for _, id := range held {
				_ = s.Release(id)
			}
		})
	}
	rng := rand.New(rand.NewPCG(9, 9))
	y.asks, y.meddle = 1, func() { runtime.Gosched(); y.asks = 1 } // let them
	conflicts := 0
	for i := range 400 {
		if i < 300 {
			y.add(t, []job{"a", "b"}[rng.IntN(2)], resources.Vector{1 + rng.Int64N(2)}, locality.Node(rng.IntN(20)))
		}
		r, err := y.s.Round(t.Context(), y.now)
		if err != nil {
			t.Error(err)
			break
		}
		conflicts += r.Conflicts
		y.follow(t, r)
		for _, n := range stops(r) {
			if y.tasks[n].stop {
				y.stopped(t, n)
			}
		}
		for k := range y.names {
			if n := y.names[k]; y.tasks[n].runs && rng.IntN(20) == 0 {
				y.done(t, n)
				break
			}
		}
		y.now = y.now.Add(time.Second)
	}
	stop()
	all.Wait()
	t.Log(conflicts, "conflicts")
	y.settle(t)
	want := resources.Vector{}
	for _, n := range y.names {
		if w := y.tasks[n]; w.runs {
			want = want.Add(w.Need)
		}
	}
	require.Equal(t, want, y.ours.Usage())
	require.NoError(t, y.cell.Check())
}
