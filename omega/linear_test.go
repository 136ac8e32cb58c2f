package omega_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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
	linearHeld     = 4  // allocations that a client holds at most before it releases
	linearRound    = 50 // operations of each client between two audits

	linearMeet    = 10  // operations of a client from one meeting to the next
	linearOverlap = 0.4 // share of operations that overlap those of another client, at least
	linearMore    = 4   // times as many operations at most, until so many overlap
)

// grant is an allocation that a client holds, or once held.
type grant struct {
	part part
	id   omega.AllocationID
}

// client runs random operations and records them.
type client struct {
	cell   *omega.Cell
	ids    []omega.MachineID
	s      *omega.Scheduler
	rng    *rand.Rand
	clock  *atomic.Int64                         // that all clients share
	shown  *[linearClients]atomic.Pointer[grant] // one that each holds: a victim for the others
	number int
	next   int32
	called int64 // when the operation began

	held, gone []grant
	history    []porcupine.Operation
}

func (c *client) part(m int, rank int8) part {
	c.next++
	return part{c.next, int8(m), int8(1 + c.rng.IntN(3)), rank}
}

// meeting lets two clients wait for one another. They block, and do not spin: on a
// machine with much else to do, a client that spins keeps the other from coming.
type meeting struct {
	mu      sync.Mutex
	arrived bool
	both    chan struct{}
	awake   atomic.Int32
}

func newMeeting() *meeting { return &meeting{both: make(chan struct{})} }

// wait blocks until both have called it.
func (m *meeting) wait() {
	m.mu.Lock()
	if m.arrived {
		close(m.both)
	}
	m.arrived = true
	m.mu.Unlock()
	<-m.both
	// One is awake before the other. It waits for a moment, where there are cores
	// for both, and goes on without it where there are not.
	m.awake.Add(1)
	for n := 0; n < 2000 && m.awake.Load() < 2; n++ {
		continue
	}
}

// meetings are those of one round, by operation and by the lower number of the two
// clients.
type meetings [linearRound][linearClients]*meeting

func newMeetings() *meetings {
	all := &meetings{}
	for i := range all {
		for n := range all[i] {
			all[i][n] = newMeeting()
		}
	}
	return all
}

// begin begins operation i of a round. At every tenth one, two clients come together,
// each time others, and run their next operations side by side. More than two would
// take the search for an order too long. An operation is called after the meeting:
// time in which a client waits for another one does not count as overlap.
func (c *client) begin(i int, all *meetings) {
	if i%linearMeet == 0 {
		other := c.number ^ (1 + i/linearMeet%(linearClients-1))
		all[i][min(c.number, other)].wait()
	}
	c.called = c.clock.Add(1)
}

// act runs one operation, of one of these kinds:
//
//   - a read;
//   - a gang;
//   - an incremental transaction over several machines, which is an operation for each;
//   - a release, sometimes for the second time;
//   - a release and a claim on the same machine in one transaction;
//   - a preemption.
func (c *client) act() error {
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	op := call{read: -1}
	var release *grant
	roll := c.rng.IntN(12)
	switch {
	case roll == 0:
		return c.read()
	case len(c.held) > 0 && (roll <= 4 || len(c.held) > linearHeld):
		i := c.rng.IntN(len(c.held))
		release = &grant{c.held[i].part, c.held[i].id}
		c.held = slices.Delete(c.held, i, i+1)
		if c.gone = append(c.gone, *release); len(c.gone) > 50 {
			c.gone = c.gone[1:]
		}
		if roll == 4 {
			op.claims = []part{c.part(int(release.part.machine), 0)}
		}
	case roll == 5 && len(c.gone) > 0:
		release = &c.gone[c.rng.IntN(len(c.gone))]
	case roll >= 10:
		if victim := c.shown[c.rng.IntN(linearClients)].Load(); victim != nil && victim.part.rank < 3 {
			op.victim = victim.part
			op.claims = []part{c.part(int(victim.part.machine), victim.part.rank+1)}
			tx.Claim(c.claim(op.claims[0], victim.id))
		}
	}
	if release == nil && op.victim.number == 0 {
		tx.Gang = c.rng.IntN(2) == 0
		for _, m := range c.rng.Perm(linearMachines)[:1+c.rng.IntN(linearMachines)] {
			op.claims = append(op.claims, c.part(m, 0))
		}
	}
	if tx.Len() == 0 {
		for _, p := range op.claims {
			tx.Claim(c.claim(p))
		}
	}
	if release != nil {
		tx.Release(release.id)
		op.releases = []part{release.part}
	}
	if _, err := c.s.Commit(&tx); err != nil {
		return err
	}
	return c.book(&tx, op, c.called, c.clock.Add(1))
}

func (c *client) claim(p part, victims ...omega.AllocationID) omega.Claim {
	return omega.Claim{
		Machine: c.ids[p.machine], Need: resources.Vector{int64(p.need)},
		Precedence: omega.Precedence(p.rank), Victims: victims,
	}
}

func (c *client) record(in call, out reply, called, returned int64) {
	c.history = append(c.history, porcupine.Operation{
		ClientId: c.number, Input: in, Call: called, Output: out, Return: returned,
	})
}

func (c *client) read() error {
	m := c.rng.IntN(linearMachines)
	state, _ := c.cell.State(c.ids[m])
	c.record(call{read: m}, reply{free: int8(state.Free[0])}, c.called, c.clock.Add(1))
	return nil
}

// book records the outcome of a transaction.
func (c *client) book(tx *omega.Txn, op call, called, returned int64) error {
	out := reply{granted: len(op.claims) > 0, refused: -1}
	if len(op.releases) > 0 {
		out.released = tx.Err(len(op.claims)) == nil
	}
	whole := tx.Gang || len(op.releases) > 0 || op.victim.number > 0
	for i, p := range op.claims {
		one := reply{granted: true}
		var refused *omega.RefusalError
		if id, ok := tx.Allocation(i); ok {
			c.held = append(c.held, grant{p, id})
			c.shown[c.number].Store(&grant{p, id})
		} else if err := tx.Err(i); errors.As(err, &refused) && errors.Is(err, omega.ErrConflict) {
			one = reply{refused: p.machine, free: int8(refused.Free[0])}
			if out.granted {
				out.granted, out.refused, out.free = false, p.machine, one.free
			}
			if tx.Gang { // each refusal shows a moment of its machine
				c.record(call{read: int(p.machine)}, reply{free: one.free}, called, returned)
			}
		} else if op.victim.number > 0 && errors.Is(err, omega.ErrReleased) {
			out.granted, out.gone = false, true
		} else if !errors.Is(err, omega.ErrGang) {
			return err
		}
		if !whole {
			c.record(call{read: -1, claims: []part{p}}, one, called, returned)
		}
	}
	if whole {
		c.record(op, out, called, returned)
	}
	return nil
}

// newClients returns the clients of a small cell that is empty.
func newClients(t *testing.T, seed uint64, ops int) []*client {
	t.Helper()
	cell, ids := newCell(t, linearMachines, resources.Vector{linearCapacity})
	var (
		clock atomic.Int64
		shown [linearClients]atomic.Pointer[grant]
	)
	clients := make([]*client, linearClients)
	for n := range clients {
		clients[n] = &client{
			cell: cell, ids: ids, s: ranked(t, cell, fmt.Sprint("client-", n)), number: n,
			rng: rand.New(rand.NewPCG(seed, uint64(n))), clock: &clock, shown: &shown,
			next: int32(n * ops * (linearMachines + 1)),
		}
	}
	return clients
}

// round lets all clients run at once, and returns their records, an audit last.
func round(t *testing.T, clients []*client) (all []porcupine.Operation) {
	t.Helper()
	var (
		wg   sync.WaitGroup
		errs [linearClients]error
		meet = newMeetings()
	)
	for n, c := range clients {
		c.history = c.history[:0]
		wg.Go(func() {
			for i := range linearRound {
				c.begin(i, meet)
				if errs[n] == nil { // else the others still want to meet it
					errs[n] = c.act()
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.NoError(t, clients[0].cell.Check())
	for _, c := range clients {
		all = append(all, c.history...)
	}
	clock := clients[0].clock
	return append(all, porcupine.Operation{
		Input: call{read: -1, audit: true}, Call: clock.Add(1),
		Output: reply{books: audit(t, clients)}, Return: clock.Add(1),
	})
}

// audit reads the whole cell while its clients rest.
func audit(t *testing.T, clients []*client) *books {
	t.Helper()
	b := emptyBooks()
	for _, c := range clients {
		dead := make(map[omega.AllocationID]bool)
		for m := range c.s.Marked() {
			dead[m.Allocation.ID] = true
		}
		for _, g := range c.held {
			b.add(g.part)
			if dead[g.id] {
				i, _ := b.find(g.part.number)
				b.entries[i].dead = true
			}
		}
	}
	for m, id := range clients[0].ids {
		state, ok := clients[0].cell.State(id)
		require.True(t, ok)
		b.free[m] = int8(state.Free[0])
	}
	return &b
}

// Every history of a small cell must be one that a cell without concurrency could have
// produced. The order is searched for from one audit to the next. A client that is
// stopped in the middle of a commit overlaps with all that others do meanwhile. Without
// an end to that the search would have none either. On a machine with much else to do it
// may still not end in time. A few such rounds, of which nothing is known, are let pass.
func TestCommit_IsLinearizable(t *testing.T) {
	// More threads than cores: the kernel then stops them inside commits too.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(linearClients))
	seeds, ops := uint64(30), 2000
	if testing.Short() {
		seeds, ops = 10, 1000
	}
	preempted, rounds, undecided, operations, overlapping, planned := 0, 0, 0, 0, 0, 0
	// Two clients run side by side only as far as the machine has cores for both. On
	// one with much else to do it takes more operations until enough overlap.
	enough := func() bool { return float64(overlapping) >= linearOverlap*float64(planned) }
	for seed := uint64(0); seed < seeds || !enough() && seed < linearMore*seeds; seed++ {
		clients, first := newClients(t, seed, ops), emptyBooks()
		for done := 0; done < ops; done += linearRound {
			all := round(t, clients)
			for _, op := range all {
				if in := op.Input.(call); in.victim.number > 0 && op.Output.(reply).granted {
					preempted++
				}
			}
			n, of := overlap(all)
			overlapping, operations = overlapping+n, operations+of
			if rounds++; seed < seeds {
				planned += of
			}
			switch porcupine.CheckOperationsTimeout(linearModel(first), all, 20*time.Second) {
			case porcupine.Illegal:
				require.Fail(t, "not linearizable", "seed %d, operations %d and on", seed, done)
			case porcupine.Unknown:
				undecided++
			}
			first = *all[len(all)-1].Output.(reply).books
		}
	}
	require.Positive(t, preempted)
	require.True(t, enough(), "%d of %d operations overlap another client's, %d were planned", overlapping, operations, planned)
	require.LessOrEqual(t, undecided, rounds/100, "rounds of %d without a verdict", rounds)
	t.Logf("%d of %d operations overlap another client's; %d rounds, %d without a verdict",
		overlapping, operations, rounds, undecided)
}

// overlap counts the operations of a history that overlap one of another client,
// and all but the audit, which is the last.
func overlap(history []porcupine.Operation) (overlapping, of int) {
	ops := history[:len(history)-1]
	for _, a := range ops {
		if slices.ContainsFunc(ops, func(b porcupine.Operation) bool {
			return a.ClientId != b.ClientId && a.Call < b.Return && b.Call < a.Return
		}) {
			overlapping++
		}
	}
	return overlapping, len(ops)
}

// A history in which one client comes after the other does not count as one that
// overlaps.
func TestLinear_CountsWhatOverlaps(t *testing.T) {
	at := func(client int, called, returned int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Call: called, Return: returned}
	}
	audit := at(0, 100, 101)
	for name, tt := range map[string]struct {
		history         []porcupine.Operation
		overlapping, of int
	}{
		"one after the other": {[]porcupine.Operation{at(1, 1, 2), at(2, 3, 4), at(1, 5, 6), audit}, 0, 3},
		"the same client":     {[]porcupine.Operation{at(1, 1, 4), at(1, 1, 4), audit}, 0, 2},
		"two of three":        {[]porcupine.Operation{at(1, 1, 3), at(2, 2, 5), at(1, 6, 7), audit}, 2, 3},
		"within":              {[]porcupine.Operation{at(1, 1, 9), at(2, 2, 3), at(3, 4, 5), audit}, 3, 3},
	} {
		overlapping, of := overlap(tt.history)
		require.Equal(t, [2]int{tt.overlapping, tt.of}, [2]int{overlapping, of}, name)
	}
}
