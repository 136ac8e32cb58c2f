package omega

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// maxSchedulers is the most schedulers that can register, as many as machines.
const maxSchedulers = maxIndex

// Config is the initial state of a cell. The zero Config is a cell without machines; its
// errors print bare vectors.
type Config struct {
	// Space names the resource kinds in errors. It may be nil. An allocation has memory
	// for as many kinds as Space names, or else as the initial machines have. See
	// [Scheduler.Commit] for what more kinds cost.
	Space *resources.Space
	// Machines are added in this order and so numbered from 0.
	Machines []Machine
	// Reserved is the share of the cell, of each resource, that reservations keep
	// together: see [Reservation]. 0 is a quarter.
	Reserved float64
}

// kinds returns how many kinds of resources the allocations of the cell have, as far as
// is known; 0 if it is not known.
func (cfg *Config) kinds() int {
	if cfg.Space != nil {
		return cfg.Space.Kinds()
	}
	var sum resources.Vector
	for i := range cfg.Machines {
		sum = sum.Max(cfg.Machines[i].Capacity)
	}
	return kindsOf(&sum)
}

// kindsOf returns of how many kinds v has something.
func kindsOf(v *resources.Vector) (n int) {
	for _, q := range v {
		if q != 0 {
			n++
		}
	}
	return n
}

// defaultReserved is the share of a cell that reservations keep unless [Config] says
// otherwise.
const defaultReserved = 0.25

// Cell is the shared state of all machines, the cell state of the Omega paper, section
// 3.4. Any number of schedulers read it and commit to it without locking each other out.
//
// Cells are made by [NewCell] and [Restore]. The methods of any other Cell fail with
// [resources.ErrNil], or return nothing. A Cell is safe for concurrent use. Commits and
// reads are lock-free. Changes of machines and names take a short mutex, for which no
// commit and no read waits. With a journal each change waits for that: see
// [Cell.SetJournal].
type Cell struct {
	space *resources.Space
	tag   uint32 // in all IDs, so that those of another cell are not mistaken

	journal *journaled // nil for a cell without a journal; set before others use the cell

	// words and slots hold, by node number, each machine's word and its allocation slots.
	// Numbers below nodes are in use or were once. nodes is raised only after the word is
	// in place, so a goroutine that sees a number sees its machine.
	//
	// Eight words share a cache line. Two schedulers that only claim and release on
	// machines less than 8 numbers apart take 1.3 to 1.5 times as long as on others. A line for each word would mend that, take 56 bytes more of each machine,
	// and have each refresh read eight times as much.
	words  segments[word]
	slots  segments[slots]
	layout layout          // of slots; zero until there is a machine or a space
	stamps segments[stamp] // by block, from node unstamped on
	nodes  atomics.Uint32

	numbers numbers // of tallies

	machines *xsync.MapOf[string, MachineID] // by name, removed ones left out
	accounts *xsync.MapOf[string, Account]
	ledgers  atomics.Pointer[[]*ledger] // by account

	waiters      waiters
	reservations atomics.Pointer[[]lined] // nil for none; replaced with mu held
	share        float64                  // that reservations may keep

	cutting atomics.Mutex  // held while a cut is taken
	epoch   atomics.Uint32 // odd while one is taken

	acknowledged atomics.Pointer[acknowledged] // during the cut that is taken

	fenced atomic.Uint64 // successions that have fenced the machines; decides no more than what a refresh reads

	mu        atomics.Mutex    // guards the fields below, and changes to the maps and lists
	total     resources.Vector // capacity of all machines; see admit
	spare     []uint32         // node numbers of removed machines
	followers []follower       // of attributes
	owners    map[string]*owner
	enrolled  uint64  // schedulers that have ever registered
	makers    uint64  // Schedulers that were ever made, successors among them
	departed  counted // the counts of schedulers that have left

	lastReservation ReservationID
}

// NewCell returns a cell with the given machines. Errors name the machine: [ErrName] for
// a name that is invalid or given twice, [resources.ErrQuantity] for a capacity;
// [ErrTxn] for a share outside 0 to 1.
func NewCell(cfg Config) (*Cell, error) {
	c := &Cell{
		space:    cfg.Space,
		tag:      rand.Uint32() & tagMask, //nolint:forbidigo // decides nothing but which foreign IDs are refused
		machines: xsync.NewMapOf[string, MachineID](),
		accounts: xsync.NewMapOf[string, Account](),
		owners:   make(map[string]*owner),
	}
	c.ledgers.Store(&[]*ledger{{}}) // the zero account
	if c.share = cmp.Or(cfg.Reserved, defaultReserved); !(c.share > 0 && c.share <= 1) {
		return nil, fmt.Errorf("%w: Reserved is %v, want 0 to 1", errReservation, cfg.Reserved)
	}
	if kinds := cfg.kinds(); kinds > 0 {
		c.layout = layoutFor(kinds)
	}
	for _, m := range cfg.Machines {
		if _, err := c.Add(m); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Space returns the space that the cell's errors are printed in, or nil.
func (c *Cell) Space() *resources.Space {
	if c.none() {
		return nil
	}
	return c.space
}

// word returns the word of machine m, or nil if the cell never had the machine.
func (c *Cell) word(m MachineID) *word { return c.wordFor(m, 0) }

// wordFor is word for the scheduler with that maker: it does not keep the scheduler's
// own version there.
func (c *Cell) wordFor(m MachineID, maker uint32) *word {
	node := uint32(m.Node())
	if !m.named() || m.tag() != c.tag || node >= c.nodes.Load() {
		return nil
	}
	w := c.words.at(node)
	if g := m.generation(); g > 0 {
		if v, _ := w.KeepFor(maker).V.value(); g > v.spec.id.generation() {
			return nil
		}
	}
	return w
}

// gave reports whether the cell gave out the ID of a machine. It is wordFor for a caller that
// needs no word: one of a first machine takes no look at that.
func (c *Cell) gave(m MachineID, maker uint32) bool {
	if m.generation() > 0 {
		return c.wordFor(m, maker) != nil
	}
	return m.named() && m.tag() == c.tag && uint32(m.Node()) < c.nodes.Load()
}

// specOf returns the name, capacity and attributes of machine m with its condition. It
// returns nil and [Removed] if the number serves another machine.
func (c *Cell) specOf(m MachineID) (*spec, Condition) {
	if w := c.word(m); w != nil {
		if v := load(w); v.spec.id == m {
			return v.spec, v.cond
		}
	}
	return nil, Removed
}

// Machine returns the machine of that name. It is lock-free.
func (c *Cell) Machine(name string) (MachineID, bool) {
	if c.none() {
		return 0, false
	}
	return c.machines.Load(name)
}

// MachineState is one machine as it was at one moment.
type MachineState struct {
	Machine
	ID        MachineID
	Condition Condition
	// Free is the room that claims of any precedence may have. Reserved is the rest of
	// the room that is not allocated: see [Reservation].
	Free, Reserved resources.Vector

	Live int    // allocations it holds
	Seq  uint64 // rises with every change of the node's state
}

func (v *version) state() (st MachineState) {
	v.describe(&st)
	return st
}

// describe sets st to the state of the machine. It writes in place, since a MachineState
// is four cache lines.
func (v *version) describe(st *MachineState) {
	spec := v.spec
	st.Machine, st.ID, st.Condition, st.Live, st.Seq = spec.Machine, spec.id, v.cond, v.live.count(), v.seq
	v.unpack(&st.Free)
	st.Reserved = resources.Vector{}
	if v.keeps {
		all := st.Free
		st.Free = v.reserved().room(&all, math.MinInt32, 0)
		st.Reserved, _ = all.Sub(st.Free)
	}
}

// State returns the present state of machine m, and false if the cell does not have it.
// It is lock-free, and linearizable with commits.
func (c *Cell) State(m MachineID) (MachineState, bool) {
	if c.none() {
		return MachineState{}, false
	}
	w := c.word(m)
	if w == nil {
		return MachineState{}, false
	}
	v := load(w)
	return v.state(), v.spec.id == m && v.cond != Removed
}

// Machines walks the machines by node number, without removed ones. Each state was true
// at one moment of the walk. The cell may change meanwhile, by the loop body too.
func (c *Cell) Machines() iter.Seq[MachineState] {
	return func(yield func(MachineState) bool) {
		if c.none() {
			return
		}
		for node := range c.nodes.Load() {
			if v := load(c.words.at(node)); v.cond != Removed && !yield(v.state()) {
				return
			}
		}
	}
}
