package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/omega"
)

// repeated is a row of the second table: work that is done over and over in a cell that
// stays as full as it is. Each function sets it up and returns how long a round takes,
// in ns. The mutex has nothing like some work; then its function is nil.
type repeated struct {
	name        string
	cell, mutex func() (float64, error)
	took        [2][]float64
	conflicts   []float64 // a round, where schedulers work at once
}

const (
	steadyTasks = 20 // for each machine
	gangWidth   = 100
	changedPart = 50 // one machine of so many changes between two refreshes
	perCore     = 8  // schedulers that share a core
)

// errRound reports a round that did not go well: there always is room for it.
var errRound = errors.New("a task found no room, or was not released")

func seeded() *rand.Rand { return rand.New(rand.NewPCG(3, 97)) }

func (c config) repeated() []*repeated {
	m, rounds := c.machines, max(c.tasks/10, 1)
	mixture := mixed(m * steadyTasks)
	busy, tails := crowdSetting(m)
	alike := need{100, 128, 10}
	const live = 100
	all := []*repeated{
		both("85 % full, release and place", setting{capacityAt(mixture, m, full), m, len(mixture)}, rounds,
			func(p placer) func() bool { return churn(p, mixture) }),
		both("97 % full, heavy-tailed needs, release and place", busy, rounds,
			func(p placer) func() bool { return newCrowd(p, busy, tails, 0.97).round }),
		both("one machine, claim and release", setting{need{live * 100, live * 128, live * 10}, 1, live}, rounds,
			func(p placer) func() bool {
				for task := range live - 1 {
					p.place(task, alike)
				}
				return func() bool { return p.place(live-1, alike) && p.release(live-1) }
			}),
		{name: fmt.Sprintf("refresh and first placement, %d of %d machines changed", max(m/changedPart, 1), m), cell: func() (float64, error) {
			return refreshed(m, max(rounds/2000, 1))
		}},
	}
	if m >= gangWidth {
		half := setting{capacityAt(mixture, m, 0.5), m, len(mixture) + gangWidth}
		all = append(all, both(fmt.Sprintf("gang of %d, placed and released", gangWidth), half, max(rounds/gangWidth, 1),
			func(p placer) func() bool { return ganging(p, mixture) }))
	}
	for _, n := range c.crowds() {
		r := &repeated{name: fmt.Sprintf("85 %% full, release and place, %d at once, wall", n)}
		r.cell = func() (float64, error) {
			took, conflicts, err := atOnce(m, n, rounds)
			r.conflicts = append(r.conflicts, conflicts)
			return took, err
		}
		all = append(all, r)
	}
	return all
}

// crowds are how many schedulers place at once: one for each core, and several.
func (c config) crowds() []int {
	cores := runtime.GOMAXPROCS(0)
	if cores*perCore > c.machines {
		return nil
	}
	return []int{cores, cores * perCore}
}

// both is a row in which cell and mutex do the same.
func both(name string, s setting, rounds int, start func(placer) func() bool) *repeated {
	on := func(open func(setting) (placer, error)) func() (float64, error) {
		return func() (float64, error) {
			p, err := open(s)
			if err != nil {
				return 0, err
			}
			round := start(p)
			runtime.GC()
			used := cputime.Used()
			for range rounds {
				if !round() {
					return 0, errRound
				}
			}
			return float64((cputime.Used() - used).Nanoseconds()) / float64(rounds), nil
		}
	}
	return &repeated{name: name, cell: on(openCell), mutex: on(openLock)}
}

// churn fills a cell and returns a round. In the round a task leaves, chosen at random,
// and one with the same need comes: there is room for it in the former one's place.
func churn(p placer, needs []need) (round func() bool) {
	var live []int
	for task, n := range needs {
		if p.place(task, n) {
			live = append(live, task)
		}
	}
	rng := seeded()
	return func() bool {
		task := live[rng.IntN(len(live))]
		return p.release(task) && p.place(task, needs[task])
	}
}

// ganging fills a cell and returns a round in which a gang comes and goes.
func ganging(p placer, needs []need) (round func() bool) {
	for task, n := range needs {
		p.place(task, n)
	}
	rng := seeded()
	return func() bool {
		return p.placeGang(len(needs), gangWidth, needs[rng.IntN(len(needs))]) && p.releaseGang(len(needs), gangWidth)
	}
}

// refreshed returns how long a scheduler takes for its first placement after another
// scheduler has changed some machines, other ones each time.
func refreshed(machines, rounds int) (float64, error) {
	s := setting{need{64_000, 131_072, 8_000}, machines, 1}
	c, err := newCells(s.capacity, machines, 1, "next fit")
	if err != nil {
		return 0, err
	}
	mine, err := newCellPlacer(c.cells[0], "mine", s)
	if err != nil {
		return 0, err
	}
	other, err := newCellPlacer(c.cells[0], "other", s)
	if err != nil {
		return 0, err
	}
	ids := make([]omega.MachineID, 0, machines)
	for m := range c.cells[0].Machines() {
		ids = append(ids, m.ID)
	}
	n, rng, took := need{1_000, 2_048, 100}, seeded(), time.Duration(0)
	for range rounds {
		for range max(machines/changedPart, 1) {
			other.tx.Reset()
			other.tx.Claim(omega.Claim{Machine: ids[rng.IntN(len(ids))], Need: vector(n)})
			if _, err := other.commit(&other.tx); err != nil {
				return 0, err
			}
			other.held[0], _ = other.tx.Allocation(0)
			if !other.release(0) {
				return 0, errRound
			}
		}
		start := time.Now()
		mine.snap.Refresh(start)
		placed := mine.place(0, n)
		took += time.Since(start)
		if !placed || !mine.release(0) {
			return 0, errRound
		}
	}
	return float64(took.Nanoseconds()) / float64(rounds), nil
}

// atOnce returns how long n schedulers take at once, by the wall, for as many rounds of
// churn, divided by those, and the conflicts of a round.
func atOnce(machines, n, rounds int) (took, conflicts float64, err error) {
	needs := mixed(machines * steadyTasks)
	s := setting{capacityAt(needs, machines, full), machines, len(needs)}
	c, err := newCells(s.capacity, machines, 1, "next fit")
	if err != nil {
		return 0, 0, err
	}
	all, placers := make([]func() bool, n), make([]*cellPlacer, n)
	for i := range all {
		if placers[i], err = newCellPlacer(c.cells[0], fmt.Sprint("scheduler-", i), s); err != nil {
			return 0, 0, err
		}
		all[i] = churn(placers[i], needs[i*len(needs)/n:(i+1)*len(needs)/n])
		placers[i].refused = 0
	}
	runtime.GC()
	var wg sync.WaitGroup
	var failed atomic.Bool
	start := time.Now()
	for _, round := range all {
		wg.Go(func() {
			for range max(rounds/n, 1) {
				if !round() {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	took = float64(time.Since(start).Nanoseconds())
	if failed.Load() {
		return 0, 0, errRound
	}
	refused, done := 0, float64(n*max(rounds/n, 1))
	for _, p := range placers {
		refused += p.refused
	}
	return took / done, float64(refused) / done, nil
}

// measure does the work of a row once, in the cell and then under the mutex.
func (r *repeated) measure() error {
	for i, work := range []func() (float64, error){r.cell, r.mutex} {
		if work == nil {
			continue
		}
		ns, err := work()
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		r.took[i] = append(r.took[i], ns)
	}
	return nil
}

func printRepeated(w io.Writer, rows []*repeated) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\n\tcell\tmutex\tratio\tconflicts\t")
	for _, r := range rows {
		cell := median(r.took[0])
		if r.mutex == nil {
			some := ""
			if len(r.conflicts) > 0 {
				some = fmt.Sprintf("%.4f", median(r.conflicts))
			}
			fmt.Fprintf(table, "%s\t%.0f ns\t\t\t%s\t\n", r.name, cell, some)
			continue
		}
		mutex := median(r.took[1])
		ratios := make([]float64, len(r.took[0]))
		for i := range ratios {
			ratios[i] = r.took[0][i] / r.took[1][i]
		}
		fmt.Fprintf(table, "%s\t%.0f ns\t%.0f ns\t%.1f\t\t\n", r.name, cell, mutex, median(ratios))
	}
	return table.Flush()
}
