//go:build explore

package omega

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// exact checks the books of a cell at rest. The cell's own check passes, usage equals the
// sum of the allocations, and no limit is exceeded. Each allocation that is not live and
// not released has a mark.
func exact(c *Cell) error {
	if err := c.Check(); err != nil {
		return err
	}
	accounts := make(map[Account]resources.Vector)
	held := make(map[*owner]resources.Vector)
	unmarked := make(map[AllocationID]*owner)
	for node := range c.nodes.Load() {
		val := load(c.words.at(node))
		for n := range c.table(node).all() {
			var rec record
			seq, ok := c.table(node).look(n, &rec)
			switch {
			case !ok:
			case !val.live.has(n):
				unmarked[allocationID(node, n, c.tag, seq)] = rec.tally.owner
			default:
				t := rec.tally
				accounts[t.account] = accounts[t.account].Add(rec.need)
				held[t.owner] = held[t.owner].Add(rec.need)
			}
		}
	}
	for a, l := range *c.ledgers.Load() {
		if used := l.used(); used != accounts[Account(a)] {
			return fmt.Errorf("usage of account %d is %v at rest, allocated %v", a, used, accounts[Account(a)])
		}
	}
	for name, o := range c.owners {
		if used := o.used(); used != held[o] {
			return fmt.Errorf("usage of scheduler %q is %v at rest, allocated %v", name, used, held[o])
		}
		if o.held != nil && (o.held.load() != held[o] || !held[o].Fits(*o.limits.Held)) {
			return fmt.Errorf("scheduler %q holds %v, counted as %v, of %v", name, held[o], o.held.load(), o.limits.Held)
		}
		for _, m := range o.prune(c, o.marks.Load()) {
			if unmarked[m.Allocation.ID] != o {
				return fmt.Errorf("scheduler %q has a mark of %v, twice or of what it has", name, m.Allocation.ID)
			}
			delete(unmarked, m.Allocation.ID)
		}
	}
	if len(unmarked) > 0 {
		return fmt.Errorf("no mark of %v", unmarked)
	}
	return nil
}

// bounded checks, while others commit, that usage is not below the amount allocated, and
// that this is within the limits. It reads the cell's words before and after, and checks
// nothing where they differ.
func bounded(c *Cell) error {
	before := make([]*version, c.nodes.Load())
	accounts := make(map[Account]resources.Vector)
	held := make(map[*owner]resources.Vector)
	for node := range before {
		before[node] = load(c.words.at(uint32(node)))
		live := c.heldIn(before[node])
		for _, rec := range live.records() {
			t := rec.tally
			accounts[t.account] = accounts[t.account].Add(rec.need)
			held[t.owner] = held[t.owner].Add(rec.need)
		}
	}
	var wrong error
	for a, sum := range accounts {
		if used := c.ledger(a).used(); !sum.Fits(used) {
			wrong = fmt.Errorf("usage of account %d is %v, allocated %v", a, used, sum)
		}
	}
	for o, sum := range held {
		if used := o.used(); !sum.Fits(used) {
			wrong = fmt.Errorf("usage of scheduler %q is %v, allocated %v", o.name, used, sum)
		}
		if o.held != nil && (!sum.Fits(o.held.load()) || !sum.Fits(*o.limits.Held)) {
			wrong = fmt.Errorf("scheduler %q holds %v, counted as %v, of %v", o.name, sum, o.held.load(), o.limits.Held)
		}
	}
	for node, val := range before {
		if load(c.words.at(uint32(node))) != val {
			return nil
		}
	}
	return wrong
}

// plan is a cell and the operations of threads on it, one after the other.
type plan struct {
	cell    *Cell
	threads [][]func()
}

// newCell returns a cell with so many machines of a capacity each.
func newCell(machines int, capacity int64) *Cell {
	cfg := Config{}
	for m := range machines {
		cfg.Machines = append(cfg.Machines, Machine{Name: fmt.Sprint(m), Capacity: resources.Vector{capacity}})
	}
	return exploredCell(cfg)
}

// states describes all states that a cell can have before, between and after the
// operations of a plan, in any order of the threads.
func states(build func() plan, describe func(*Cell) string) map[string]bool {
	all := make(map[string]bool)
	var visit func(order []int)
	visit = func(order []int) {
		p := build()
		next := make([]int, len(p.threads))
		for _, i := range order {
			p.threads[i][next[i]]()
			next[i]++
		}
		all[describe(p.cell)] = true
		for i, ops := range p.threads {
			if next[i] < len(ops) {
				visit(append(slices.Clone(order), i))
			}
		}
	}
	visit(nil)
	return all
}

// exploreStates explores a plan beside a thread that observes the cell. The result of the
// observer must describe a state that the cell can have between two operations. There may
// be several such threads.
func exploreStates(t *testing.T, preemptions, observers int, build func() plan, describe func(*Cell) string, observe func(*Cell) func() (string, error)) {
	t.Helper()
	possible := states(build, describe)
	exploreAll(t, preemptions, func(r *explore.Run) {
		p := build()
		for i, ops := range p.threads {
			r.Go(fmt.Sprint(i), func() {
				for _, op := range ops {
					op()
				}
			})
		}
		saw := make([]func() (string, error), observers)
		for i := range saw {
			r.Go("observer", func() { saw[i] = observe(p.cell) })
		}
		r.Check(func() error {
			for _, saw := range saw {
				state, err := saw()
				if err != nil {
					return err
				}
				if !possible[state] {
					return fmt.Errorf("saw an impossible state:\n%s", state)
				}
			}
			return exact(p.cell)
		})
	})
}

// described returns the dump of a cell at rest and the room with which resized
// allocations run.
func described(c *Cell) string {
	var text strings.Builder
	text.WriteString(dump(c))
	for node := range c.nodes.Load() {
		live := c.heldIn(load(c.words.at(node)))
		for _, rec := range live.records() {
			if ext := rec.ext; ext != nil && c.remaining(ext.after, time.Time{}) != nil {
				fmt.Fprintf(&text, "%v runs with %v\n", rec.need, ext.had)
			}
		}
	}
	return text.String()
}

// dump returns the lines of a cell's dump in an order of their own, less the
// slots, which differ with the order in which they were taken.
func dump(c *Cell) string {
	var text bytes.Buffer
	must(0, c.Dump(&text))
	lines := strings.Split(idPattern.ReplaceAllString(text.String(), "$1/_/_"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, ",")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var idPattern = regexp.MustCompile(`(\d+)/\d+/\d+`)
