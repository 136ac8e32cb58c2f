package experiments

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/locality/quincy"
)

// load is a set of jobs to run, and the cell for them.
type load struct {
	name  string
	shows string
	data  string                                         // the folder of its recording in Options.Data, "" for none
	make  func(o Options, seed uint64) (*setting, error) // reads o.Data
}

// setting is a load with a seed.
type setting struct {
	cell   *cell
	jobs   []*job
	others func() *others // nil for none
	task   time.Duration  // how long tasks take in the mean
	costs  quincy.DataCosts
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// The cell of synthetic and facebook is of the size of the paper's, which had
// 240 machines in 8 racks. A rack's way to the others is a quarter as wide as
const (
	racks    = 8
	machines = 30 // in each
	link     = 120 * mib
	wide     = 16 * link
	narrow   = 4 * link
	every    = 500 * time.Millisecond
)

// costs returns the costs of the paper, as Firmament restates them, by the
// millionth. A gigabyte over a rack's switch costs 1 and over the core switch 2,
// or 20 where that is narrow. A second of waiting costs a half, and one of work lost 1.
func costs(core int64) quincy.DataCosts {
	return quincy.DataCosts{Core: core * 1e6, Rack: 1e6, Wait: 500, Work: 1000}
}

func loads() []load {
	return []load{
		{name: "synthetic", shows: "scans, joins and computations; the core switch has 16 links", make: func(o Options, seed uint64) (*setting, error) {
			return synthetic(o, seed, time.Hour, 1, wide, costs(2))
		}},
		{name: "narrow", shows: "the same; it has 4", make: narrowLoad},
		{name: "batch", shows: "a quarter of these, 15 times as fast one after the other; it has 4", make: func(o Options, seed uint64) (*setting, error) {
			return synthetic(o, seed, 15*time.Minute, 15, narrow, costs(20))
		}},
		{name: "facebook", shows: "20 minutes of 2010, a fifth of the bytes; 16 links", data: "swim-facebook", make: facebook},
		{name: "hadoop", shows: "a log of 2009, 90 % of the slots are busy otherwise", data: "rumen-hadoop-2009", make: hadoop},
	}
}

func narrowLoad(o Options, seed uint64) (*setting, error) {
	return synthetic(o, seed, time.Hour, 1, narrow, costs(20))
}

// synthetic draws jobs of three kinds for some time, so that 85 % of the slots
// would be busy if all data were where it is read. There are scans of a block of 512 MiB
// a task. There are joins of such a block with an eighth of one, which are in different
// places. There are computations that read little. They come so many times as fast.
func synthetic(o Options, seed uint64, span time.Duration, faster, core int64, costs quincy.DataCosts) (*setting, error) {
	c, err := even(racks, machines, 1, link, core)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	d := newDisks(c, random)
	s := &setting{cell: c, costs: costs}
	const (
		busy  = 0.85
		most  = 400.0 // tasks of a job
		scans = 8 * time.Second
		joins = 10 * time.Second
		least = 30 * time.Second // a computation
	)
	size := (most - 1) / math.Log(most) // the mean of sizes that are even by their logarithm
	work := size * (0.5*scans.Seconds() + 0.25*joins.Seconds() + 0.25*2*least.Seconds())
	apart := work / (busy * float64(len(c.rack)))
	tasks, sum := 0, time.Duration(0)
	for now := 0.0; ; {
		now += random.ExpFloat64() * apart
		at := time.Duration(now * float64(time.Second)).Truncate(time.Millisecond)
		if at >= o.span(span) {
			break
		}
		j := &job{at: (at / time.Duration(faster)).Truncate(time.Microsecond), tasks: make([]task, int(math.Pow(most, random.Float64())))}
		kind := random.IntN(4)
		for i := range j.tasks {
			t := &j.tasks[i]
			switch kind {
			case 0, 1:
				*t = task{input: []quincy.Block{d.block(512 * mib)}, run: scans}
			case 2:
				*t = task{input: []quincy.Block{d.block(512 * mib), d.block(64 * mib)}, run: joins}
			default:
				run := least + time.Duration(random.Int64N(int64(2*least)))
				*t = task{input: []quincy.Block{d.block(16 * mib)}, run: run}
			}
			sum += t.run
		}
		tasks += len(j.tasks)
		s.jobs = append(s.jobs, j)
	}
	s.task = sum / time.Duration(max(tasks, 1))
	return s, nil
}
