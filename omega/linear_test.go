package omega_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const (
	linearMachines = 3
	linearCapacity = 4
	linearClients  = 8
	linearOps      = 60 // for each client
)

// call is one operation of a history: what one transaction wanted of the machines
// that it changed in one step, or a read of one machine.
type call struct {
	claims   []part
	releases []part
	read     int // the machine that is read, or -1
}

// part is one claim. Its number is its own in the whole history.
type part struct {
	number  int
	machine int
	need    int64
}

// reply is what the cell answered.
type reply struct {
	released bool  // what was to be released was
	granted  bool  // all claims were
	refused  int   // else the machine of the first that was not
	free     int64 // and what that machine, or the one that was read, had
}

// books is the obviously right model of a cell: numbers and a set.
type books struct {
	free [linearMachines]int64
	live [linearClients*linearOps*linearMachines/64 + 1]uint64
}

// step says whether a cell in state b could have answered in that way, and
// what its state is then.
func (b books) step(c call, r reply) (bool, books) {
	if c.read >= 0 {
		return r.free == b.free[c.read], b
	}
	for _, p := range c.releases {
		if isLive := b.live[p.number/64]>>(p.number%64)&1 == 1; isLive != r.released {
			return false, b
		}
		if r.released {
			b.live[p.number/64] &^= 1 << (p.number % 64)
			b.free[p.machine] += p.need
		}
	}
	if !r.granted {
		for _, p := range c.claims {
			if p.machine == r.refused {
				return b.free[p.machine] == r.free && p.need > r.free, b
			}
		}
		return len(c.claims) == 0, b
	}
	for _, p := range c.claims {
		if b.free[p.machine] -= p.need; b.free[p.machine] < 0 {
			return false, b
		}
		b.live[p.number/64] |= 1 << (p.number % 64)
	}
	return true, b
}

var linearModel = porcupine.Model{
	Init: func() any {
		var b books
		for m := range b.free {
			b.free[m] = linearCapacity
		}
		return b
	},
	Step: func(state, in, out any) (bool, any) {
		return state.(books).step(in.(call), out.(reply))
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// grant is an allocation that a client holds, or once held.
type grant struct {
	part part
	id   omega.AllocationID
}

// client runs random operations and records them, stamped by a clock that all
// clients share: reads, gangs, incremental transactions over several machines
// (an operation for each), releases, some of them for the second time, and an
// exchange of an allocation for a claim on the same machine.
func client(cell *omega.Cell, ids []omega.MachineID, number int, seed uint64, clock *atomic.Int64) ([]porcupine.Operation, error) {
	s, err := cell.Register(fmt.Sprint("client-", number), omega.Limits{})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, uint64(number)))
	var history []porcupine.Operation
	var held, gone []grant
	next := number * linearOps * linearMachines
	for range linearOps {
		if rng.IntN(4) == 0 {
			runtime.Gosched()
		}
		var tx omega.Txn
		var claims []part
		var release *grant
		read := -1
		roll := rng.IntN(10)
		switch {
		case roll == 0:
			read = rng.IntN(linearMachines)
		case roll <= 4 && len(held) > 0:
			last, i := len(held)-1, rng.IntN(len(held))
			held[i], held[last] = held[last], held[i]
			release, held = &grant{held[last].part, held[last].id}, held[:last]
			gone = append(gone, *release)
		case roll == 5 && len(gone) > 0:
			release = &gone[rng.IntN(len(gone))]
		}
		switch {
		case release == nil && read < 0:
			tx.Gang = rng.IntN(2) == 0
			for _, m := range rng.Perm(linearMachines)[:1+rng.IntN(linearMachines)] {
				claims = append(claims, part{next, m, 1 + rng.Int64N(3)})
				next++
			}
		case roll == 4 && release != nil:
			claims = []part{{next, release.part.machine, 1 + rng.Int64N(3)}}
			next++
		}
		for _, p := range claims {
			tx.Claim(omega.Claim{Machine: ids[p.machine], Need: resources.Vector{p.need}})
		}
		if release != nil {
			tx.Release(release.id)
		}

		called, free := clock.Add(1), int64(0)
		if read >= 0 {
			state, _ := cell.State(ids[read])
			free = state.Free[0]
		} else if _, err := s.Commit(&tx); err != nil {
			return nil, err
		}
		returned := clock.Add(1)
		record := func(c call, r reply) {
			history = append(history, porcupine.Operation{
				ClientId: number, Input: c, Call: called, Output: r, Return: returned,
			})
		}

		if read >= 0 {
			record(call{read: read}, reply{free: free})
		}
		whole, out := call{read: -1, claims: claims}, reply{granted: len(claims) > 0, refused: -1}
		if release != nil {
			whole.releases, out.released = []part{release.part}, tx.Err(len(claims)) == nil
		}
		for i, p := range claims {
			one := reply{granted: true}
			var refused *omega.ItemError
			if id, ok := tx.Allocation(i); ok {
				held = append(held, grant{p, id})
			} else if errors.As(tx.Err(i), &refused) && errors.Is(refused, omega.ErrConflict) {
				one = reply{refused: p.machine, free: refused.Free[0]}
				if out.granted {
					out.granted, out.refused, out.free = false, p.machine, one.free
				}
				if tx.Gang { // each refusal shows a moment of its machine
					record(call{read: p.machine}, reply{free: one.free})
				}
			} else if !errors.Is(tx.Err(i), omega.ErrGang) {
				return nil, tx.Err(i)
			}
			if !tx.Gang && release == nil {
				record(call{read: -1, claims: []part{p}}, one)
			}
		}
		if tx.Gang || release != nil {
			record(whole, out)
		}
	}
	return history, nil
}

// Every history of a small cell must be one that a cell without concurrency
// could have produced.
func TestCommit_IsLinearizable(t *testing.T) {
	// More threads than cores: the kernel then stops them inside commits too.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(linearClients))
	for seed := range uint64(80) {
		cell, ids := newCell(t, linearMachines, resources.Vector{linearCapacity})
		var (
			clock   atomic.Int64
			wg      sync.WaitGroup
			ready   = make(chan struct{})
			parts   [linearClients][]porcupine.Operation
			errs    [linearClients]error
			history []porcupine.Operation
		)
		for n := range linearClients {
			wg.Go(func() {
				<-ready
				parts[n], errs[n] = client(cell, ids, n, seed, &clock)
			})
		}
		close(ready)
		wg.Wait()
		require.NoError(t, errors.Join(errs[:]...))
		for _, p := range parts {
			history = append(history, p...)
		}
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(linearModel, history, time.Minute), "seed %d", seed)
		require.NoError(t, cell.Check())
	}
}
