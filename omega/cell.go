package omega

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/cellsched/cellsched/resources"
)

// maxSchedulers is as many as there can be machines.
const maxSchedulers = maxIndex

// Config is what a cell starts with. The zero Config is a cell without
// machines whose errors print bare vectors.
type Config struct {
	// Space names the resource kinds in errors. It may be nil.
	Space *resources.Space
	// Machines are added in this order and so numbered from 0.
	Machines []Machine
}

// Cell is all machines under one shared state, which any number of schedulers
// read and commit to without locking each other out: the cell state of the
// Omega paper, section 3.4.
//
// It is safe for concurrent use. Commits and reads are lock-free; adding,
// draining and removing machines and registering names take a short mutex
// among themselves, which no commit and no read of a machine's state waits
// for.
type Cell struct {
	space *resources.Space
	tag   uint32 // in all IDs, so that those of another cell are not mistaken

	// words and slots hold, by node number, each machine's word and its
	// allocation slots. Numbers below nodes are in use or were once; nodes is
	// raised only after the word is in place, so whoever sees a number sees
	// its machine.
	words segments[word]
	slots segments[slots]
	nodes atomic.Uint32

	machines *xsync.MapOf[string, MachineID] // by name, removed ones left out
	accounts *xsync.MapOf[string, Account]
	known    atomic.Uint32 // accounts numbered so far; readable before use

	mu           sync.Mutex // guards what follows, and changes to the maps
	spare        []uint32   // node numbers of removed machines
	accountNames []string
	schedulers   []string // by number less one
	registered   map[string]bool
}

// NewCell returns a cell with the given machines. It fails with an error that
// names the machine, wrapping [ErrName] or [resources.ErrQuantity], if a name
// is empty or given twice or a capacity is invalid.
func NewCell(cfg Config) (*Cell, error) {
	c := &Cell{
		space:    cfg.Space,
		tag:      rand.Uint32(), //nolint:forbidigo // decides nothing but which foreign IDs are refused
		machines: xsync.NewMapOf[string, MachineID](),
		accounts: xsync.NewMapOf[string, Account](),

		registered: make(map[string]bool),
	}
	for _, m := range cfg.Machines {
		if _, err := c.Add(m); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Space returns the space that the cell's errors are printed in, or nil.
func (c *Cell) Space() *resources.Space { return c.space }

// Add brings in a machine and returns its ID. It takes the number of a machine
// that was removed, if there is one, with a new generation. Errors: [ErrName],
// [resources.ErrQuantity], [ErrTooMany] beyond 2^20 machines.
func (c *Cell) Add(m Machine) (MachineID, error) {
	if err := m.Capacity.Check(); err != nil {
		return 0, fmt.Errorf("omega: machine %q: capacity: %w", m.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Name == "" {
		return 0, fmt.Errorf("%w: machine name is empty", ErrName)
	}
	if _, taken := c.machines.Load(m.Name); taken {
		return 0, fmt.Errorf("%w: machine %q is in the cell already", ErrName, m.Name)
	}

	node, next := c.nodes.Load(), &version{seq: 1, free: m.Capacity}
	if last := len(c.spare) - 1; last >= 0 {
		node, c.spare = c.spare[last], c.spare[:last]
		w := c.words.at(node)
		raw, old := settle(w)
		next.seq = old.seq + 1
		next.spec = &spec{m, machineID(node, old.spec.id.generation()+1)}
		// Nobody else moves a removed machine's word: claims are refused.
		if !w.CompareAndSwap(raw, next) {
			panic("omega: a removed machine changed")
		}
	} else {
		if node == maxIndex {
			return 0, fmt.Errorf("%w machines: %q is one more than %d", ErrTooMany, m.Name, maxIndex)
		}
		next.spec = &spec{m, machineID(node, 0)}
		c.slots.grow(node)
		c.words.grow(node).Store(next)
		c.nodes.Store(node + 1)
	}
	c.machines.Store(m.Name, next.spec.id)
	return next.spec.id, nil
}

// Drain makes a machine refuse new claims while it keeps its allocations.
// Draining it again changes nothing. Errors: [ErrUnknown], [ErrRemoved].
func (c *Cell) Drain(m MachineID) error { return c.setCondition(m, Draining) }

// Resume makes a draining machine take claims again. Errors: as for Drain.
func (c *Cell) Resume(m MachineID) error { return c.setCondition(m, Ready) }

func (c *Cell) setCondition(m MachineID, cond Condition) error {
	_, err := c.change(m, func(old *version) *version {
		if old.cond == cond {
			return nil
		}
		return &version{seq: old.seq + 1, spec: old.spec, free: old.free, live: old.live, cond: cond}
	})
	return err
}

// Remove takes a machine out of the cell at once and returns the allocations
// that are lost with it, for the program to tell their owners. Releasing one
// of them later fails with [ErrRemoved] or, once the number serves another
// machine, [ErrReleased]. Cost: O(allocations lost). Errors: [ErrUnknown],
// [ErrRemoved].
func (c *Cell) Remove(m MachineID) ([]Allocation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.change(m, func(old *version) *version {
		return &version{seq: old.seq + 1, spec: old.spec, cond: Removed}
	})
	if err != nil {
		return nil, err
	}
	node := uint32(m.Node())
	at := c.slots.at(node)
	lost := make([]Allocation, 0, old.live.count())
	for slot := range old.live.all() {
		lost = append(lost, c.allocation(at.get(slot), old.spec.id, slot, c.schedulers))
		at.clear(slot)
	}
	c.machines.Delete(old.spec.Name)
	c.spare = append(c.spare, node)
	return lost, nil
}

// change replaces the value of machine m by what next makes of it, unless that
// is nil, and returns the value that was replaced. It linearizes at the swap,
// which fails only if some commit succeeded.
func (c *Cell) change(m MachineID, next func(*version) *version) (*version, error) {
	w := c.word(m)
	if w == nil {
		return nil, fmt.Errorf("%w machine %v", ErrUnknown, m)
	}
	for {
		raw, old := settle(w)
		if old.cond == Removed || old.spec.id != m {
			return nil, fmt.Errorf("omega: machine %v: %w", m, ErrRemoved)
		}
		v := next(old)
		if v == nil || w.CompareAndSwap(raw, v) {
			return old, nil
		}
	}
}

// word returns the word of machine m, or nil if the cell never had it.
func (c *Cell) word(m MachineID) *word {
	node := uint32(m.Node())
	if node >= c.nodes.Load() {
		return nil
	}
	w := c.words.at(node)
	if m.generation() > load(w).spec.id.generation() {
		return nil
	}
	return w
}

// Machine returns the machine of that name. It is lock-free.
func (c *Cell) Machine(name string) (MachineID, bool) { return c.machines.Load(name) }

// MachineState is one machine as it was at one moment.
type MachineState struct {
	Machine
	ID        MachineID
	Condition Condition
	Free      resources.Vector
	Live      int    // allocations it holds
	Seq       uint64 // rises with every change of the node's state
}

func (v *version) state() MachineState {
	return MachineState{v.spec.Machine, v.spec.id, v.cond, v.free, v.live.count(), v.seq}
}

// State returns what machine m is at this moment, and false if the cell does
// not have it, or not any more. It is lock-free, and linearizable with commits.
func (c *Cell) State(m MachineID) (MachineState, bool) {
	w := c.word(m)
	if w == nil {
		return MachineState{}, false
	}
	v := load(w)
	return v.state(), v.spec.id == m && v.cond != Removed
}

// Machines walks the machines of the cell by node number, those that were
// removed left out. Each state was true at one moment of the walk; the cell
// may change meanwhile, by the loop body too.
func (c *Cell) Machines() iter.Seq[MachineState] {
	return func(yield func(MachineState) bool) {
		for node := range c.nodes.Load() {
			if v := load(c.words.at(node)); v.cond != Removed && !yield(v.state()) {
				return
			}
		}
	}
}

// Account returns the number of the account of that name, which it gives out
// on first use, from 1. Looking up a known name is lock-free. The empty name
// is the zero Account.
func (c *Cell) Account(name string) Account {
	if a, ok := c.accounts.Load(name); ok || name == "" {
		return a
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.accounts.Load(name); ok {
		return a
	}
	c.accountNames = append(c.accountNames, name)
	a := Account(len(c.accountNames))
	c.known.Store(uint32(a))
	c.accounts.Store(name, a)
	return a
}

// AccountName returns the name of an account, and false for a number that was
// not given out.
func (c *Cell) AccountName(a Account) (string, bool) {
	if a == 0 {
		return "", true
	}
	if uint32(a) > c.known.Load() {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accountNames[a-1], true
}
