package pool

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// Random calls of a pool and of another scheduler on one cell, with preemption and with
// machines that come and go. Whenever all is at rest:
//
//   - leases are within blocks, and blocks are the pool's allocations in the cell;
//   - no request waits beside room for it;
//   - nothing is in stock while another scheduler waits;
//   - a claim cancels no lease that still fits.
func TestCell_KeepsLeasesWithinBlocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 63)
		script := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cellStep {
			return cellStep{rapid.SampledFrom(cellCalls).Draw(t, "call"), n.Draw(t, "a"), n.Draw(t, "b")}
		}), 1, 60).Draw(rt, "script")
		chunk := rapid.SampledFrom([]int{1, 2, 16}).Draw(rt, "chunk")
		patience := rapid.SampledFrom([]time.Duration{-1, time.Second / 2, 0}).Draw(rt, "patience")
		units := rapid.SliceOfN(rapid.Int64Range(1, 40), 1, 4).Draw(rt, "machines")
		var failed error
		synctest.Test(t, func(t *testing.T) { failed = playCell(t, chunk, patience, units, script) })
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

type cellStep struct {
	Call string
	A, B int
}

var cellCalls = []string{
	"acquire", "acquire", "acquire", "acquire", "try", "release", "release", "release", "resize", "cancel", "sleep",
	"claim", "claim", "preempt", "preempt", "give", "give", "wait", "wait", "add", "drain", "resume", "remove", "capacity",
}

// cellPlay is a pool and another scheduler on one cell.
type cellPlay struct {
	cell       *omega.Cell
	own, other *omega.Scheduler
	third      *omega.Scheduler // waits, beside the other one's commits
	pool       *Pool
	tenants    []*Tenant
	leases     []Lease
	asked      []*askedCell
	claims     []omega.AllocationID
	stop       context.CancelFunc // ends the other one's Wait
	waits      chan error
	names      int
}

// askedCell is a request that waits.
type askedCell struct {
	tenant *Tenant
	need   resources.Vector
	cancel context.CancelFunc
	got    chan Lease
}

func playCell(t *testing.T, chunk int, patience time.Duration, units []int64, script []cellStep) error {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	c := &cellPlay{cell: cell}
	for _, n := range units {
		c.add(n)
	}
	c.own, err = cell.Register("pool", omega.Limits{Divisible: true, Lowest: -5, Highest: 3})
	require.NoError(t, err)
	c.other, err = cell.Register("other", omega.Limits{Highest: 2})
	require.NoError(t, err)
	c.third, err = cell.Register("third", omega.Limits{Highest: 2})
	require.NoError(t, err)
	c.pool, err = New(Config{Cell: cell, Scheduler: c.own, Chunk: chunk, Patience: patience})
	require.NoError(t, err)
	for i := range 3 {
		n, err := c.pool.Tenant(fmt.Sprint(i), Settings{Priority: i})
		require.NoError(t, err)
		c.tenants = append(c.tenants, n)
	}
	var failed error
	for i, s := range script {
		preempted := c.preempted()
		c.do(s)
		synctest.Wait()
		c.collect()
		if failed = c.check(); failed == nil && s.Call == "preempt" {
			failed = c.needless(preempted)
		}
		if failed != nil {
			failed = fmt.Errorf("step %d, %+v: %w", i, s, failed)
			break
		}
	}
	if err := c.end(t); failed == nil {
		failed = err
	}
	return failed
}

func (c *cellPlay) add(units int64) {
	c.names++
	_, _ = c.cell.Add(omega.Machine{Name: fmt.Sprint("m", c.names), Capacity: resources.Vector{units, 2 * units}})
}

// ids returns the machines of the cell.
func (c *cellPlay) ids() (ids []omega.MachineID) {
	for m := range c.cell.Machines() {
		ids = append(ids, m.ID)
	}
	return ids
}

func (c *cellPlay) do(s cellStep) {
	ids := c.ids()
	need := resources.Vector{int64(s.B%7 + 1), int64(s.B / 7)}
	n := c.tenants[s.A%len(c.tenants)]
	switch s.Call {
	case "acquire":
		ctx, cancel := context.WithCancel(context.Background())
		a := &askedCell{tenant: n, need: need, cancel: cancel, got: make(chan Lease, 1)}
		c.asked = append(c.asked, a)
		go func() {
			defer close(a.got)
			if l, err := n.Acquire(ctx, need); err == nil {
				a.got <- l
			}
		}()
	case "try":
		if l, ok := n.TryAcquire(need); ok {
			c.leases = append(c.leases, l)
		}
	case "release":
		if len(c.leases) > 0 {
			i := s.A % len(c.leases)
			_ = c.leases[i].Release()
			c.leases = append(c.leases[:i], c.leases[i+1:]...)
		}
	case "resize":
		if len(c.leases) > 0 {
			l := c.leases[s.A%len(c.leases)]
			less := l.Need()
			less[0] = max(1, less[0]-1)
			_ = l.Resize(less)
		}
	case "cancel":
		if len(c.asked) > 0 {
			c.asked[s.A%len(c.asked)].cancel()
		}
	case "sleep":
		time.Sleep(time.Duration(s.A) * 100 * time.Millisecond)
	case "claim", "preempt":
		if len(ids) > 0 {
			c.claim(ids[s.A%len(ids)], need, omega.Precedence(s.A/4%3), s.Call == "preempt")
		}
	case "give":
		if len(c.claims) > 0 {
			i := s.A % len(c.claims)
			_ = c.other.Release(c.claims[i])
			c.claims = append(c.claims[:i], c.claims[i+1:]...)
		}
	case "wait":
		c.wait(need)
	case "add":
		if len(ids) < 5 {
			c.add(int64(s.A + 1))
		}
	case "drain", "resume", "remove", "capacity":
		if len(ids) > 0 {
			c.change(s, ids[s.B%len(ids)])
		}
	}
}

func (c *cellPlay) change(s cellStep, m omega.MachineID) {
	switch s.Call {
	case "drain":
		_ = c.cell.Drain(m)
	case "resume":
		_ = c.cell.Resume(m)
	case "remove":
		_, _ = c.cell.Remove(m)
	case "capacity":
		_ = c.cell.SetCapacity(m, resources.Vector{int64(s.A + 1), int64(s.A + 1)})
	}
}

func (c *cellPlay) claim(m omega.MachineID, need resources.Vector, p omega.Precedence, preempt bool) {
	tx := omega.Txn{Now: time.Now(), Grace: time.Second}
	claim := omega.Claim{Machine: m, Need: need, Precedence: p}
	if preempt {
		claim.Need = need.Scale(3)
		claim.Victims, _ = c.cell.Victims(m, claim.Need, p)
	}
	tx.Claim(claim)
	if granted, err := c.other.Commit(&tx); err == nil && granted == 1 {
		a, _ := tx.Allocation(0)
		c.claims = append(c.claims, a)
	}
}

// wait has the other scheduler begin to wait, or end that.
func (c *cellPlay) wait(need resources.Vector) {
	if c.stop != nil {
		c.stop()
		<-c.waits //nolint:errcheck // it ended with or without room
		c.stop = nil
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop, c.waits = stop, make(chan error, 1)
	waits := c.waits
	go func() {
		err := c.third.Wait(ctx, need.Scale(4))
		c.third.Pass() // it has no use for the room
		waits <- err
	}()
}

// collect takes what requests were granted.
func (c *cellPlay) collect() {
	var left []*askedCell
	for _, a := range c.asked {
		select {
		case l, ok := <-a.got:
			a.cancel()
			if ok {
				c.leases = append(c.leases, l)
			}
		default:
			left = append(left, a)
		}
	}
	c.asked = left
	for m := range c.other.Marked() {
		_ = c.other.Release(m.Allocation.ID)
	}
}

func (c *cellPlay) preempted() map[Lease]bool {
	all := make(map[Lease]bool)
	for _, l := range c.leases {
		all[l] = l.Context().Err() != nil
	}
	return all
}

// needless finds a lease that was cancelled since, though it would fit beside those that
// go on.
func (c *cellPlay) needless(before map[Lease]bool) error {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	used := make(map[uint32]resources.Vector)
	for _, l := range c.leases {
		if r := l.live(); !r.preempted {
			used[r.node] = used[r.node].Add(r.run.Need)
		}
	}
	for _, l := range c.leases {
		r := l.live()
		if was, known := before[l]; !known || was || !r.preempted || r.detached {
			continue
		}
		if m := &p.books.machines[r.node]; used[r.node].Add(r.run.Need).Fits(m.block) {
			return fmt.Errorf("lease of %v on machine %d is cancelled, %v of %v are used without it", r.run.Need, r.node, used[r.node], m.block)
		}
	}
	return nil
}

// check compares leases, blocks and the cell.
func (c *cellPlay) check() error {
	if err := c.cell.Check(); err != nil {
		return err
	}
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lend
	held := make(map[locality.Node]map[blocks.Charge]resources.Vector)
	for a := range c.own.Allocations() {
		node := a.ID.Node()
		if held[node] == nil {
			held[node] = make(map[blocks.Charge]resources.Vector)
		}
		charge := blocks.Charge{Account: a.Account, Precedence: a.Precedence}
		held[node][charge] = held[node][charge].Add(a.Need)
	}
	used := make(map[int]resources.Vector)
	going := make(map[int]resources.Vector)
	for i := range p.leases.records {
		if r := &p.leases.records[i]; r.gen&1 == 1 && !r.detached {
			used[int(r.node)] = used[int(r.node)].Add(r.run.Need)
			if r.preempted {
				going[int(r.node)] = going[int(r.node)].Add(r.run.Need)
			}
		}
	}
	for node := range p.books.machines {
		m := &p.books.machines[node]
		if m.gone {
			continue
		}
		if used[node] != m.held {
			return fmt.Errorf("machine %d: leases of %v, held %v", node, used[node], m.held)
		}
		if staying, _ := m.held.Sub(going[node]); !staying.Fits(m.block) {
			return fmt.Errorf("machine %d: leases of %v go on in a block of %v", node, staying, m.block)
		}
		var total, parts resources.Vector
		for _, part := range m.lent.parts {
			if size := held[locality.Node(node)][l.charges[part.charge]]; size != part.size {
				return fmt.Errorf("machine %d: block of %v, in the cell %v", node, part.size, size)
			}
			if m.held.Fits(m.block) && !part.used.Fits(part.size) {
				return fmt.Errorf("machine %d: leases of %v in a block of %v", node, part.used, part.size)
			}
			total, parts = total.Add(part.size), parts.Add(part.used)
		}
		if total != m.lent.total || parts != m.held {
			return fmt.Errorf("machine %d: blocks of %v with leases of %v, want %v and %v", node, total, parts, m.lent.total, m.held)
		}
		for _, size := range held[locality.Node(node)] {
			total, _ = total.Sub(size)
		}
		if total != (resources.Vector{}) {
			return fmt.Errorf("machine %d: the cell lacks %v of the blocks", node, total)
		}
		if c.own.Wanted() && m.room != (resources.Vector{}) {
			return fmt.Errorf("machine %d: %v in stock while another scheduler waits", node, m.room)
		}
	}
	return c.waitsBesideRoom()
}

// waitsBesideRoom finds a request for which there is room.
func (c *cellPlay) waitsBesideRoom() error {
	p := c.pool
	for _, a := range c.asked {
		for state := range c.cell.Machines() {
			m := &p.books.machines[state.ID.Node()]
			if state.Condition != omega.Ready || !m.grants() {
				continue
			}
			if room := state.Free.Add(m.room); a.need.Fits(room) {
				return fmt.Errorf("request for %v waits, %s has %v free and %v in stock", a.need, state.Name, state.Free, m.room)
			}
		}
	}
	return nil
}

// end releases all and closes the pool.
func (c *cellPlay) end(t *testing.T) error {
	t.Helper()
	if c.stop != nil {
		c.wait(resources.Vector{})
	}
	for _, a := range c.asked {
		a.cancel()
		if l, ok := <-a.got; ok {
			_ = l.Release()
		}
	}
	for _, l := range c.leases {
		_ = l.Release()
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	err := c.pool.Close(ctx)
	if c.own.Usage() != (resources.Vector{}) {
		err = errors.Join(err, fmt.Errorf("%v are still held", c.own.Usage()))
	}
	return errors.Join(err, c.cell.Check())
}
