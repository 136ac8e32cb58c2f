package experiments

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// The log does not say how much tasks read, nor which other work ran. A block of 64 MiB was
// the size that Hadoop came with. Near its data a task takes 82 % of its time in the log,
// as bench/locality finds. The link makes up the rest for a task of mean length.
// Slots are busy with other things for as long as tasks
// of the log ran, and free for a ninth of that.
const (
	hadoopSlots  = 2
	hadoopBlock  = 64 * mib
	hadoopLink   = 10 * mib
	hadoopCore   = 50 * hadoopLink
	hadoopNear   = 0.82
	hadoopIdle   = 1.0 / 9
	hadoopBefore = 10 * time.Minute // others have been there when the first job comes
)

// hadoop reads the map tasks of a log, and where their data was.
func hadoop(o Options, seed uint64) (*setting, error) {
	log, err := readLog(filepath.Join(o.Data, "rumen-hadoop-2009", "folder-input-trace.json.gz"))
	if err != nil {
		return nil, err
	}
	c, err := newCell(log.rack, hadoopSlots, hadoopLink, hadoopCore)
	if err != nil {
		return nil, err
	}
	sum := time.Duration(0)
	for _, run := range log.runs {
		sum += run
	}
	mean := sum / time.Duration(max(len(log.runs), 1))
	last := o.span(time.Hour) + hadoopBefore
	jobs := log.jobs[:slices.IndexFunc(append(log.jobs, &job{at: last}), func(j *job) bool { return j.at >= last })]
	return &setting{
		cell: c, jobs: jobs, task: mean, costs: costs(2),
		others: func() *others {
			random := rand.New(rand.NewPCG(seed, 3))
			return &others{
				load: func() time.Duration { return log.runs[random.IntN(len(log.runs))].Truncate(time.Microsecond) },
				gap: func() time.Duration {
					return time.Duration(random.ExpFloat64() * hadoopIdle * float64(mean)).Truncate(time.Microsecond)
				},
			}
		},
	}, nil
}

// log is the known part of the cell that a log is of.
type log struct {
	jobs  []*job
	rack  []quincy.Rack // by machine
	runs  []time.Duration
	nodes map[string]locality.Node
	racks map[string]quincy.Rack
}

func readLog(path string) (l *log, err error) {
	file, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	l = &log{nodes: make(map[string]locality.Node), racks: make(map[string]quincy.Rack)}
	first := time.Duration(-1)
	for j, err := range trace.Sorted(path, trace.Rumen(path, file), 1024) {
		if err != nil {
			return nil, err
		}
		if first < 0 {
			first = j.Submit
		}
		l.add(&j, j.Submit-first+hadoopBefore)
	}
	return l, nil
}

// add adds the map tasks of a job, if it has any.
func (l *log) add(j *trace.Job, at time.Duration) {
	maps := &job{at: at}
	for _, w := range j.Work {
		if w.Stage > 0 {
			continue
		}
		t := task{run: time.Duration(hadoopNear * float64(w.Duration))}
		var nodes []locality.Node
		for _, p := range w.Places {
			if n := l.node(p); !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
		if len(nodes) > 0 {
			t.input = []quincy.Block{{Bytes: hadoopBlock, Nodes: nodes}}
		} else {
			t.run = w.Duration // as it is anywhere
		}
		maps.tasks = append(maps.tasks, t)
		l.runs = append(l.runs, w.Duration)
	}
	if len(maps.tasks) > 0 {
		l.jobs = append(l.jobs, maps)
	}
}

// node numbers a machine, and its rack.
func (l *log) node(p trace.Place) locality.Node {
	n, ok := l.nodes[p.Node]
	if !ok {
		rack, ok := l.racks[p.Rack]
		if !ok {
			rack = quincy.Rack(len(l.racks))
			l.racks[p.Rack] = rack
		}
		n = locality.Node(len(l.rack))
		l.nodes[p.Node] = n
		l.rack = append(l.rack, rack)
	}
	return n
}
