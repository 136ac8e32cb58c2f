package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// Sixteen frameworks read files that lie on 93 machines of four slots, each block
// on three of them: NSDI 2011, section 6.3. The machines and the copies are the
// paper's. It has one large file for each framework. Every machine has some of that
// to read until the end, so that there is little to wait for.
const (
	localityMachines = 93
	localityTenants  = 16
	localityFiles    = 4               // of each framework, read one after the other
	localityBlocks   = 100             // of each file, a task each
	localityCopies   = 3               // of each block
	localitySpan     = 5 * time.Minute // in which they come
	localTask        = 6 * time.Second // where the block is
	remoteTask       = 12 * time.Second
)

func localityPoints() []point {
	points := []point{{name: "static partitions", run: scan{static: true}.run}}
	for _, wait := range []time.Duration{0, time.Second, 5 * time.Second} {
		points = append(points, point{name: fmt.Sprint("shared, wait ", wait), run: scan{wait: wait}.run})
	}
	return points
}

// scan is one way to run them.
type scan struct {
	static bool
	wait   time.Duration
}

// reader is one of the frameworks.
type reader struct {
	job, fresh delay.Job // of the file, and as it begins
	random     stream
	blocks     [][]int // by machine: those on it that are not read yet, in rising order
	read       []bool
	next       int // all before have been read, or are being
	left       int // to be started
	open       int // to be done
	files      int // to come
	err        error

	local, all int
	came, done time.Duration
}

// file has the reader read another file, with blocks that lie somewhere else.
func (r *reader) file() {
	r.files--
	r.blocks, r.read = make([][]int, localityMachines), make([]bool, localityBlocks)
	r.next, r.left, r.open = 0, localityBlocks, localityBlocks
	r.job = r.fresh
	r.job.SetPending(localityBlocks)
	for b := range localityBlocks {
		for _, m := range r.random.Perm(localityMachines)[:localityCopies] {
			r.blocks[m] = append(r.blocks[m], b)
		}
	}
}

// run returns how many tasks ran where their block is, and how long a job took.
func (s scan) run(ctx context.Context, seed uint64) ([]value, error) {
	w, err := newWorld(seed, alike(localityMachines, resources.Vector{4}), offers.Config{})
	if err != nil {
		return nil, err
	}
	var readers []*reader
	for i := range localityTenants {
		r := &reader{files: localityFiles, random: w.stream(uint64(i))}
		if r.fresh, err = delay.New(delay.Policy{Waits: delay.Waits{s.wait}}); err != nil {
			return nil, err
		}
		r.file()
		readers = append(readers, r)
		reg := offers.Registration{Name: fmt.Sprint("reader-", i)}
		if s.static {
			reg.Machines = w.mask(i*localityMachines/localityTenants, (i+1)*localityMachines/localityTenants)
		}
		w.after(r.random.within(localitySpan), func() error {
			r.came = w.now
			f, err := w.add(reg, r.pick)
			if err != nil {
				return err
			}
			f.refuse = offers.For(0)
			f.offered = func(got []offers.Offer) error {
				if err := f.launch(got); err != nil || r.left > 0 {
					return err
				}
				return f.Suppress(w.time())
			}
			return nil
		})
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	var local, all, took float64
	for _, r := range readers {
		if r.err != nil {
			return nil, r.err
		}
		local += float64(r.local)
		all += float64(r.all)
		took += (r.done - r.came).Seconds() / localityTenants
	}
	return []value{{name: "local", value: local / all}, {name: "all read / s", value: took}}, nil
}

// pick starts the next reads, if the machine is near enough.
func (r *reader) pick(f *framework, o offers.Offer) []task {
	m := int(o.Machine.Node())
	return fill(o.Room, slot, func() (task, bool) {
		if r.left == 0 {
			return task{}, false
		}
		here := r.blocks[m]
		here = slices.DeleteFunc(here, func(b int) bool { return r.read[b] })
		r.blocks[m] = here
		level := locality.Level(1)
		if len(here) > 0 {
			level = locality.NodeLocal
		}
		d, err := r.job.Offer(f.w.time(), level)
		if err != nil {
			r.err = err
		}
		if !d.Launch {
			return task{}, false
		}
		for r.read[r.next] {
			r.next++
		}
		block, length := r.next, remoteTask
		if level == locality.NodeLocal {
			block, length = here[0], localTask
			r.local++
		}
		r.read[block] = true
		r.all++
		r.left--
		return task{length: length, ended: func() error {
			if r.open--; r.open > 0 {
				return nil
			}
			if r.files == 0 {
				r.done = f.w.now
				return nil
			}
			r.file()
			return f.Revive(f.w.time())
		}}, true
	})
}
