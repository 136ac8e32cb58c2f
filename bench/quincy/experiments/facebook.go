package experiments

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/locality/quincy"
)

// facebook reads the map tasks of 20 minutes of jobs. The cell is smaller than
// the one that the trace is of, and so are the jobs. A task is there for five, and
// takes as long as one of them. A task reads its block of 128 MiB where it is, at
// 16 MiB a second; its time tells how much it reads. Jobs that read the
// same file read the same blocks.
func facebook(o Options, seed uint64) (s *setting, err error) {
	const (
		smaller = 5
		block   = 128 * mib
		rate    = 16 * mib
		startup = time.Second
	)
	c, err := even(racks, machines, 1, link, wide)
	if err != nil {
		return nil, err
	}
	s = &setting{cell: c, costs: costs(2)}
	path := filepath.Join(o.Data, "swim-facebook", "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv")
	file, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	d := newDisks(c, rand.New(rand.NewPCG(seed, 2)))
	blocks := make(map[string][]quincy.Block)
	tasks, sum := 0, time.Duration(0)
	reduced := trace.MapReduce{Block: smaller * block, Rate: smaller * rate, Startup: startup}
	for j, err := range trace.Sorted(path, trace.SWIM(path, file, reduced), 1024) {
		if err != nil {
			return nil, err
		}
		if j.Submit >= o.span(20*time.Minute) {
			break
		}
		maps := j.Work[0]
		file := blocks[maps.Input]
		for len(file) < maps.Count {
			file = append(file, d.block(block))
		}
		blocks[maps.Input] = file
		bytes := min(block, int64((maps.Duration-startup).Seconds()*rate))
		one := &job{at: j.Submit, tasks: make([]task, maps.Count)}
		for i := range one.tasks {
			one.tasks[i].run = maps.Duration
			if bytes > 0 {
				one.tasks[i].input = []quincy.Block{{Bytes: bytes, Nodes: file[i].Nodes}}
			}
		}
		s.jobs = append(s.jobs, one)
		tasks += maps.Count
		sum += time.Duration(maps.Count) * maps.Duration
	}
	s.task = sum / time.Duration(max(tasks, 1))
	return s, nil
}
