package omega

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// logged is a journal that keeps the bytes of operations, in the order in which one goroutine
// applies them.
type logged struct {
	mu    sync.Mutex
	queue []*Operation
	wake  chan struct{}
	log   []byte
	ends  []int // of the operations in log
}

func (j *logged) Append(op *Operation) {
	j.mu.Lock()
	j.queue = append(j.queue, op)
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *logged) run() {
	var batch []*Operation
	for range j.wake {
		j.mu.Lock()
		batch, j.queue = j.queue, batch[:0]
		j.mu.Unlock()
		for _, op := range batch {
			j.log = append(j.log, op.Bytes()...)
			j.ends = append(j.ends, len(j.log))
			op.Apply()
		}
	}
}

// told is the outcome of a commit as its caller was told, and the time of the call: two
// numbers of a clock that all callers share.
type told struct {
	called, returned int64
	items            uint64 // a digest
}

// tell returns a digest of the outcome of a transaction, of all that a caller can read.
func tell(tx *Txn) uint64 {
	d := uint64(1)
	for i := range tx.items {
		it := &tx.items[i]
		d = mix(d, uint64(it.verdict))
		if id, ok := it.id, it.verdict == done; ok && it.kind != releaseItem {
			d = mix(mix(d, id.seq), id.place&^(tagMask<<(2*indexBits)))
		}
		if it.refusal > 0 {
			for _, q := range tx.refusals[it.refusal-1].free {
				d = mix(d, uint64(q))
			}
		}
	}
	return d
}

// The log is the oracle: applied to a fresh cell, one operation after the other, it gives each
// caller the outcomes that it was told, reasons and numbers of allocations included. An
// operation that began after another one had returned is behind that. LOG_OPERATIONS says how
// many operations there are.
func TestJournal_LogGivesTheOutcomesThatCallersSaw(t *testing.T) {
	operations := 20_000
	if n, err := strconv.Atoi(os.Getenv("LOG_OPERATIONS")); err == nil {
		operations = n
	}
	const callers = 8
	cfg := Config{}
	for i := range 20 {
		cfg.Machines = append(cfg.Machines, Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{60, 0, 60}})
	}
	cell, err := NewCell(cfg)
	require.NoError(t, err)
	j := &logged{wake: make(chan struct{}, 1)}
	require.NoError(t, cell.SetJournal(j))
	var began bytes.Buffer
	require.NoError(t, cell.Save(&began))
	var applying, calling sync.WaitGroup
	applying.Go(j.run)
	var clock atomic.Int64
	records, schedulers := make([][]told, callers), make([]*Scheduler, callers)
	for n := range callers {
		schedulers[n], err = cell.Take(t.Context(), fmt.Sprint("s", n), Limits{Highest: 3, Divisible: n%2 == 0})
		require.NoError(t, err)
	}
	for n, s := range schedulers {
		calling.Go(func() {
			c := oracleCaller{s: s, rng: rand.New(rand.NewPCG(1, uint64(n)))}
			for range operations / callers {
				tx := c.plan()
				r := told{called: clock.Add(1)}
				if _, err := s.Commit(tx); err != nil {
					t.Error(err)
					return
				}
				r.returned, r.items = clock.Add(1), tell(tx)
				records[n] = append(records[n], r)
				c.learn(tx)
			}
		})
	}
	calling.Wait()
	close(j.wake)
	applying.Wait()

	fresh, err := Restore(bytes.NewReader(began.Bytes()), nil)
	require.NoError(t, err)
	require.NoError(t, fresh.SetJournal(&logged{wake: make(chan struct{}, 1)}))
	next, latest, granted, refused := make([]int, callers), int64(0), 0, 0
	for i, at := 0, 0; i < len(j.ends); i++ {
		_, err := fresh.Apply(j.log[at:j.ends[i]])
		require.NoError(t, err, "operation %d", i)
		at = j.ends[i]
		op := &fresh.journal.foreign
		if op.kind != commitOp {
			continue
		}
		n := int(op.scheduler.owner.num - schedulers[0].owner.num)
		r := records[n][next[n]]
		next[n]++
		require.Equal(t, r.items, tell(op.tx), "operation %d: the %d. commit of caller %d", i, next[n], n)
		require.Greater(t, r.returned, latest, "operation %d returned before one was called that is before it", i)
		latest = max(latest, r.called)
		granted, refused = granted+op.granted, refused+len(op.tx.refusals)
	}
	for n := range next {
		require.Len(t, records[n], next[n])
	}
	var have, want bytes.Buffer
	require.NoError(t, fresh.Save(&have))
	require.NoError(t, cell.Save(&want))
	require.True(t, bytes.Equal(want.Bytes(), have.Bytes()))
	require.Greater(t, granted, operations/4)
	require.Greater(t, refused, operations/4)
	t.Logf("%d operations, %d claims granted, %d refused", len(j.ends), granted, refused)
}

// oracleCaller is a caller with allocations.
type oracleCaller struct {
	s    *Scheduler
	rng  *rand.Rand
	held []AllocationID
	tx   Txn

	resized int // the item that resizes the last one held, or -1
}

// plan returns a transaction of claims, releases, gangs, resizes and preemptions.
func (c *oracleCaller) plan() *Txn {
	tx := &c.tx
	tx.Reset()
	c.resized = -1
	tx.Gang, tx.Now, tx.Grace = c.rng.IntN(4) == 0, time.Unix(1e9, 0), AtOnce
	c.s.Snapshot().Refresh(tx.Now)
	for range c.rng.IntN(3) {
		if n := len(c.held); n > 0 {
			i := c.rng.IntN(n)
			tx.Release(c.held[i])
			c.held[i] = c.held[n-1]
			c.held = c.held[:n-1]
		}
	}
	if n := len(c.held); n > 0 && c.rng.IntN(8) == 0 {
		c.resized = tx.Resize(c.held[n-1], resources.Vector{1 + c.rng.Int64N(9)})
	}
	for range 1 + c.rng.IntN(4) {
		node := uint32(c.rng.IntN(20))
		claim := Claim{
			Machine: c.s.cell.machine(node, 0), Need: resources.Vector{1 + c.rng.Int64N(9), 0, c.rng.Int64N(5)},
			Precedence: Precedence(c.rng.IntN(4)),
		}
		if c.rng.IntN(6) == 0 {
			claim.Victims, _ = c.s.cell.Victims(claim.Machine, claim.Need, claim.Precedence)
		}
		tx.Claim(claim)
	}
	return tx
}

func (c *oracleCaller) learn(tx *Txn) {
	for i := range tx.Len() {
		id, ok := tx.Allocation(i)
		switch {
		case ok && i == c.resized:
			c.held[len(c.held)-1] = id
		case ok:
			defer func() { c.held = append(c.held, id) }()
		}
	}
	for mark := range c.s.Marked() {
		_ = c.s.Release(mark.Allocation.ID)
	}
}
