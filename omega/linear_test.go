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
	linearOps      = 250 // for each client
)

// call is one operation of a history: a gang (of one claim or several, on
// different machines), a release, or a read of one machine.
type call struct {
	gang    []part
	release int // the number of the part that is released, or -1
	read    int // the machine that is read, or -1
}

// part is one claim of a gang. Its number is its own in the whole history.
type part struct {
	number  int
	machine int
	need    int64
}

// reply is what the cell answered.
type reply struct {
	ok      bool
	machine int   // of the first claim that was refused
	free    int64 // what that machine, or the machine that was read, had
}

// books is the obviously right model of a cell: numbers and a set.
type books struct {
	free [linearMachines]int64
	live [linearClients * linearOps * linearMachines / 64]uint64
}

func (b *books) isLive(n int) bool { return b.live[n/64]>>(n%64)&1 == 1 }

// step says whether a cell in state b could have answered in that way, and
// what its state is then.
func (b books) step(c call, r reply) (bool, books) {
	switch {
	case c.read >= 0:
		return r.free == b.free[c.read], b
	case c.release >= 0 && !r.ok:
		return !b.isLive(c.release), b
	case c.release >= 0:
		if !b.isLive(c.release) {
			return false, b
		}
		b.live[c.release/64] &^= 1 << (c.release % 64)
		b.free[c.gang[0].machine] += c.gang[0].need
		return true, b
	case !r.ok:
		for _, p := range c.gang {
			if p.machine == r.machine {
				return b.free[p.machine] == r.free && p.need > r.free, b
			}
		}
		return false, b
	}
	for _, p := range c.gang {
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
// clients share. Now and then it releases what it has released before.
func client(cell *omega.Cell, ids []omega.MachineID, number int, seed uint64, clock *atomic.Int64) ([]porcupine.Operation, error) {
	s, err := cell.Register(fmt.Sprint("client-", number))
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
		in, out := call{release: -1, read: -1}, reply{machine: -1}
		var tx omega.Txn
		switch roll := rng.IntN(10); {
		case roll == 0:
			in.read = rng.IntN(linearMachines)
		case roll <= 3 && len(held) > 0:
			last := len(held) - 1
			i := rng.IntN(len(held))
			in.release, in.gang = held[i].part.number, []part{held[i].part}
			tx.Release(held[i].id)
			gone = append(gone, held[i])
			held[i], held = held[last], held[:last]
		case roll == 4 && len(gone) > 0:
			again := gone[rng.IntN(len(gone))]
			in.release, in.gang = again.part.number, []part{again.part}
			tx.Release(again.id)
		default:
			tx.Gang = true
			for _, m := range rng.Perm(linearMachines)[:1+rng.IntN(linearMachines)] {
				p := part{next, m, 1 + rng.Int64N(3)}
				next++
				in.gang = append(in.gang, p)
				tx.Claim(omega.Claim{Machine: ids[m], Need: resources.Vector{p.need}})
			}
		}

		called := clock.Add(1)
		if in.read >= 0 {
			state, _ := cell.State(ids[in.read])
			out.free = state.Free[0]
		} else if _, err := s.Commit(&tx); err != nil {
			return nil, err
		}
		returned := clock.Add(1)

		out.ok = in.read >= 0 || tx.Err(0) == nil
		for i, p := range in.gang {
			var refused *omega.ItemError
			if id, ok := tx.Allocation(i); ok {
				held = append(held, grant{p, id})
			} else if out.machine < 0 && errors.As(tx.Err(i), &refused) && errors.Is(refused, omega.ErrConflict) {
				out.machine, out.free = p.machine, refused.Free[0]
			}
		}
		history = append(history, porcupine.Operation{
			ClientId: number, Input: in, Call: called, Output: out, Return: returned,
		})
	}
	return history, nil
}

// Every history of a small cell must be one that a cell without concurrency
// could have produced: gangs, single claims, releases, double releases, reads.
func TestCommit_IsLinearizable(t *testing.T) {
	// More threads than cores: the kernel then stops them inside commits too.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(linearClients))
	for seed := range uint64(20) {
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
