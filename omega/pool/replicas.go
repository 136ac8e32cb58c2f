package pool

import (
	"context"
	"sync"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// replicas is the part of a pool that knows the pools of other processes on the same cell. It
// writes and reads notes on a board:
//
//	key of a note       Amount                          Need
//	tenant              that its leases use             the least of its requests that lack room
//	limitKey + tenant   of the limit, for leases here   for which that is too little
//
// The order of the pool counts the use of a tenant in all processes, and its waits: so each
// pool has nearly the same order. It is late by a note. Who goes first is the rule of
// [replicas.yields].
//
// Limits. Each pool takes parts of a limit, for some leases at a time. Invariant, for each
// limit: leases here ≤ part here, and the board keeps the sum of all parts ≤ limit.
type replicas struct {
	*core
	board    *journal.Board
	chunk    int64
	patience time.Duration

	known    []*Tenant     // with a far
	waiting  []*Tenant     // for which requests wait in other replicas
	dirty    []*Tenant     // with a note to be written
	looking  bool          // notes runs
	version  uint64        // of the board that was applied
	epoch    uint64        // how often verdicts have ended
	sampled  time.Duration // when the means were brought up to date
	memory   time.Duration // of the means
	later    *time.Timer
	delaying bool // later runs
	timer    *time.Timer
	timing   bool // timer runs

	lost    func(error)     // ends the pool
	wake    chan struct{}   // of capacity 1: there is a note to write
	over    bool            // notes end
	live    context.Context //nolint:containedctx // of the goroutines, which end with it
	stop    context.CancelFunc
	running sync.WaitGroup
}

// far is the state of a tenant or group in other replicas, and in the notes of this one.
type far struct {
	run     drf.Run          // their use, of a tenant, as one task in the order
	charged bool             // the run is in the order
	held    resources.Vector // their use, of all in a group, as it is in the order
	waits   bool             // requests wait there
	need    resources.Vector // the least of these
	least   resources.Vector // the least use of a replica where they wait
	mean    float64          // of the dominant share that it holds in all replicas, of late
	verdict verdict          // the last one
	since   time.Duration    // when this pool first kept room for them in vain, 0 for not

	part    resources.Vector // of the limit, that leases here may use
	others  resources.Vector // parts of other replicas
	fewest  resources.Vector // the least part of a replica that asks for more
	asks    resources.Vector // need for which the part was too little, while that lasts
	unit    resources.Vector // the last of these
	wanted  bool             // requests wait for a part in other replicas
	sending bool             // a smaller part is on its way: see apply
	sent    resources.Vector // part in the last note
	asked   resources.Vector // need in that note

	leases int              // when the last note was written
	use    resources.Vector // in it
	lacks  resources.Vector // need in it
	dirty  bool

	at              uint64         // version of the board in which it was
	told, toldLimit *journal.Tally // while that is applied
}

// limitKey begins the key of a limit. No tenant has such a name.
const limitKey = "\x00"

const (
	// noteAfter is when a change of less than a chunk is written at the latest.
	noteAfter = time.Second

	// noteEvery is the shortest time from one note to the next.
	noteEvery = 10 * time.Millisecond

	// The mean of what a tenant holds is over so many of its leases, and so long at least.
	memoryTasks = 10
	leastMemory = 10 * time.Second

	// farPatience is how long room is kept for a request in another replica, unless the
	// patience of the pool is set.
	farPatience = time.Second
)

func newReplicas(c *core, cfg *Config) *replicas {
	rs := &replicas{
		core: c, board: cfg.Replicas, chunk: int64(cfg.Chunk), patience: cfg.Patience,
		wake: make(chan struct{}, 1), memory: leastMemory,
	}
	if rs.patience <= 0 {
		rs.patience = farPatience
	}
	rs.live, rs.stop = context.WithCancel(context.Background())
	return rs
}

// begin starts the goroutines.
func (rs *replicas) begin() {
	rs.running.Go(rs.listen)
	rs.running.Go(rs.write)
}

// end ends them. Notes are taken back unless the journal has failed.
func (rs *replicas) end(all bool) {
	rs.mu.Lock()
	rs.over = true
	for _, t := range rs.known {
		rs.mark(t)
	}
	rs.mu.Unlock()
	if !all {
		rs.stop()
	}
	signal(rs.wake)
	rs.running.Wait()
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// contended reports whether requests wait in other replicas. Nil has none.
func (rs *replicas) contended() bool { return rs != nil && len(rs.waiting) > 0 }

// farOf returns the far of a tenant, which is made if need be.
func (rs *replicas) farOf(t *Tenant) *far {
	if t.far == nil {
		t.far = new(far)
		rs.known = append(rs.known, t)
	}
	return t.far
}

// idle reports whether a tenant may be forgotten: no replica has a note of it.
func (f *far) idle() bool {
	none := resources.Vector{}
	return !f.charged && !f.waits && !f.dirty && f.use == none && f.lacks == none && f.part == none && f.sent == none
}

// here returns the use of a tenant or group in this replica.
func (rs *replicas) here(t *Tenant) resources.Vector {
	held, _ := rs.tenants.fair.Held(t.user).Sub(t.far.held)
	return held
}

// note notes that the use or the waits of a tenant have changed. A change of a chunk is
// written at once, and so is each where requests of the tenant wait. Called with mu held.
func (rs *replicas) note(t *Tenant) {
	f := rs.farOf(t)
	if f.dirty {
		return
	}
	d := int64(t.leases - f.leases)
	for g := t; g != nil; g = g.parent {
		if g.far != nil && g.far.wanted { // a part of a limit may be given up
			rs.mark(g)
		}
	}
	if f.waits || d != 0 && f.lacks != (resources.Vector{}) || max(d, -d) >= rs.chunk || (t.first == nil) != (f.lacks == resources.Vector{}) && (t.first == nil || rs.lend.settled) {
		rs.mark(t)
		return
	}
	if d != 0 && !rs.delaying {
		rs.delaying = true
		setTimer(&rs.later, noteAfter, rs.noteAll)
	}
}

// noteAll has all changes written.
func (rs *replicas) noteAll() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.delaying = false
	for _, t := range rs.known {
		f := t.far
		if f.asks != (resources.Vector{}) {
			waits := false
			for of := range t.below() {
				waits = waits || of.first != nil
			}
			if !waits { // a TryAcquire has asked
				f.asks = resources.Vector{}
			}
		}
		if t.leases != f.leases || t.set.Limited {
			rs.mark(t)
		}
	}
}

// mark has the note of a tenant written.
func (rs *replicas) mark(t *Tenant) {
	if f := rs.farOf(t); !f.dirty {
		f.dirty = true
		rs.dirty = append(rs.dirty, t)
		signal(rs.wake)
	}
}

// settled notes that the committer has found no room for the requests that wait.
func (rs *replicas) settled() {
	if rs.waits.waiting == 0 {
		return
	}
	for t := range rs.tenants.all() {
		if t.first != nil {
			rs.note(t)
		}
	}
}
