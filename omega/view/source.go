package view

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// handler serves the paths.
type handler struct {
	cfg     Config
	source  *source
	answers atomic.Int64 // in progress, without streams

	mu     sync.Mutex // guards the field below
	ending map[*http.Server]chan struct{}
}

// frame is all that is shown at one moment. It is immutable.
type frame struct {
	at       time.Time
	epoch    uint64 // another one: another cell
	colours  []string
	states   [][]byte          // by colour, one byte a machine
	ids      []omega.MachineID // by number; none without a cell
	owners   []string
	overview []byte // JSON, with a line end
	told     uint64 // decisions so far
	recent   []decision
	sums     sums
	kinds    int
}

// colour returns the position of a colouring.
func (f *frame) colour(name string) int {
	if name == "" {
		return 0
	}
	return slices.Index(f.colours, name)
}

// source makes frames when they are asked for. Requests and viewers share them, so the
// work does not grow with their number, and without them there is none.
type source struct {
	cfg Config

	mu      sync.Mutex // guards the fields below; held while a frame is made
	viewers int
	byOwner int // viewers with colours by owner
	epoch   uint64
	fleet   *fleet // nil without viewers, and without a cell
	last    *frame
	next    time.Time // of the frame after last
	pools   []shown
	loops   []shownLoop
	sources []answered
	counts  []observe.Counts // of the cell's schedulers and of sources
	callers []*caller        // of pools, loops and sources
	asked   time.Time        // when callers are next
	subs    []*observe.Subscription
	told    uint64
	recent  []decision
	before  baseline
	renew   bool // the overview is to be written anew
}

// shown is a pool with its last statistics.
type shown struct {
	pool    *pool.Pool
	name    string
	stats   pool.Stats
	waiters []pool.Waiter
}

func newSource(cfg Config) *source {
	s := &source{cfg: cfg}
	for name, p := range cfg.Pools {
		if p != nil && p.Space() != nil { // not nil or zero
			s.pools = append(s.pools, shown{pool: p, name: name})
		}
	}
	slices.SortFunc(s.pools, func(a, b shown) int { return cmp.Compare(a.name, b.name) })
	for name, l := range cfg.Loops {
		if l != nil {
			s.loops = append(s.loops, shownLoop{name: name, loop: l})
		}
	}
	slices.SortFunc(s.loops, func(a, b shownLoop) int { return cmp.Compare(a.name, b.name) })
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		if cfg.Sources[name] != nil {
			s.sources = append(s.sources, answered{name: name})
		}
	}
	s.prepare()
	return s
}

// enter adds a viewer, unless there are too many. The viewer calls leave when it goes.
func (s *source) enter(owner bool) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers >= s.cfg.Viewers {
		return nil, false
	}
	if s.viewers++; s.viewers == 1 {
		s.subscribe()
		s.next, s.asked = time.Time{}, time.Time{} // the frame of the last viewer is old
	}
	if owner {
		s.byOwner++
	}
	return func() { s.leave(owner) }, true
}

func (s *source) leave(owner bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner {
		s.byOwner--
	}
	if s.viewers--; s.viewers == 0 {
		for _, sub := range s.subs {
			sub.Close()
		}
		s.subs, s.fleet, s.before = nil, nil, baseline{}
	}
}

// subscribe subscribes to each stream once.
func (s *source) subscribe() {
	streams := make(map[*observe.Stream]bool)
	add := func(sub *observe.Subscription) {
		if sub == nil {
			return
		}
		if streams[sub.Stream()] {
			sub.Close()
			return
		}
		streams[sub.Stream()] = true
		s.subs = append(s.subs, sub)
	}
	for i := range s.pools {
		add(s.pools[i].pool.Subscribe(keptDecisions, observe.Refused, observe.Preempted))
	}
	add(s.cfg.Events.Subscribe(keptDecisions, observe.Refused, observe.Preempted))
}

// frame returns the frame of now: a new one, unless the last is recent.
func (s *source) frame() *frame {
	s.ask()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.last != nil && now.Before(s.next) {
		return s.last
	}
	f := s.make(now)
	s.last = f
	// A frame in ten times as long as it takes at most. A little less than a period:
	// tickers of viewers are not exact.
	took := time.Since(now)
	s.next = now.Add(max(every*4/5, 10*took))
	return f
}

// make makes a frame. Called with mu held.
func (s *source) make(now time.Time) *frame {
	f := &frame{at: now}
	s.hear()
	cell := s.current()
	if s.counts == nil {
		s.count(cell)
		s.compare(cell, now)
	}
	f.told, f.recent = s.told, s.recent
	space := s.space(cell)
	f.colours = append(f.colours, "dominant")
	if cell != nil {
		s.look(f, cell, now)
	} else {
		s.renew, s.fleet = s.renew || s.fleet != nil, nil
		s.lookAtPools(f, space)
	}
	s.describe(f, cell, space, now)
	return f
}

// look adds the machines of a cell to a frame. Called with mu held.
func (s *source) look(f *frame, cell *omega.Cell, now time.Time) {
	if s.fleet == nil || s.fleet.cell != cell || s.fleet.outgrown {
		s.epoch++
		s.renew = true
		s.fleet = newFleet(cell, s.epoch, now)
	} else {
		s.fleet.refresh(now)
	}
	l := s.fleet
	if s.byOwner > 0 {
		l.findOwners(s.cfg.Filter)
	}
	for k := range l.kinds {
		f.colours = append(f.colours, kindName(cell.Space(), k))
	}
	f.colours = append(f.colours, "owner")
	f.epoch, f.states, f.ids, f.owners = l.epoch, slices.Clone(l.colours), l.ids, l.owners.names
	l.shared, l.sharedID = true, true
	f.sums, f.kinds = l.sums, l.kinds
	if s.viewers == 0 {
		s.fleet = nil
	}
}

// lookAtPools adds the machines of pools to a frame. Called with mu held.
func (s *source) lookAtPools(f *frame, space *resources.Space) {
	kinds := space.Kinds()
	f.kinds = kinds
	f.states = make([][]byte, kinds+1)
	for k := range kinds {
		f.colours = append(f.colours, kindName(space, k))
	}
	for i := range s.pools {
		p := &s.pools[i]
		for j := range p.stats.Machines {
			m := &p.stats.Machines[j]
			capacity, held := translate(&m.Capacity, p.pool.Space(), space), translate(&m.Held, p.pool.Space(), space)
			free, reserved := translate(&m.Free, p.pool.Space(), space), translate(&m.Reserved, p.pool.Space(), space)
			var states [resources.MaxKinds + 1]byte
			own := states[:kinds+1]
			if m.Draining {
				fill(own, draining)
				f.sums.draining++
			} else {
				shares(own, &held, &capacity)
			}
			for c, state := range own {
				f.states[c] = append(f.states[c], state)
			}
			f.sums.machines++
			f.sums.allocation += m.Leases
			f.sums.capacity, f.sums.free = f.sums.capacity.Add(capacity), f.sums.free.Add(free)
			f.sums.reserved = f.sums.reserved.Add(reserved)
		}
	}
}

// translate returns amounts in the kinds of another space, by their names.
func translate(v *resources.Vector, from, to *resources.Space) (w resources.Vector) {
	if from == to {
		return *v
	}
	for k := range from.Kinds() {
		if d, ok := from.Dimension(resources.Kind(k)); ok {
			if at, ok := to.Kind(d.Name); ok {
				w[at] = v[k]
			}
		}
	}
	return w
}

// current returns the cell to show, or nil.
func (s *source) current() *omega.Cell {
	if s.cfg.Current != nil {
		return s.cfg.Current()
	}
	return s.cfg.Cell
}

// space returns the space of the shown cell or pools, or nil.
func (s *source) space(cell *omega.Cell) *resources.Space {
	if cell != nil {
		return cell.Space()
	}
	if len(s.pools) > 0 {
		return s.pools[0].pool.Space()
	}
	return nil
}

// kindName returns the name of a kind.
func kindName(space *resources.Space, k int) string {
	if d, ok := space.Dimension(resources.Kind(k)); ok {
		return d.Name
	}
	return fmt.Sprintf("kind%d", k)
}
