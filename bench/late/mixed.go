package main

import (
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/delay/late/trial"
)

const (
	nodes = 200
	slots = 2 // of a node
)

// mixed are the scenarios on nodes of different speeds.
func mixed() []scenario {
	sort := []stage{{tasks: nodes * slots}, {tasks: nodes * slots * 9 / 10, parts: late.Phases{3, 1, 1}}}
	alike := []stage{{tasks: 2 * nodes * slots}}
	return []scenario{
		arrivals{sort, 1, 0, 0}.scenario("sort"),
		arrivals{sort, 1, 0, 1}.scenario("sort, one disk"),
		arrivals{sort, 6, 10 * time.Minute, 0}.scenario("sorts every 10 min"),
		arrivals{sort, 6, 20 * time.Minute, 1}.scenario("sorts every 20 min, one disk"),
		arrivals{sort[1:], 1, 0, 0}.scenario("reduces"),
		arrivals{sort[1:], 1, 0, 1}.scenario("reduces, one disk"),
		arrivals{alike, 1, 0, 0}.scenario("two waves"),
		arrivals{alike, 1, 0, 1}.scenario("two waves, one disk"),
		arrivals{alike, 6, 5 * time.Minute, 0}.scenario("two waves every 5 min"),
		arrivals{alike, 6, 10 * time.Minute, 1}.scenario("two waves every 10 min, one disk"),
	}
}

// stage is the number of a job's tasks in a stage, and the work in their phases.
type stage struct {
	tasks int
	parts late.Phases
}

// arrivals are the number of jobs, the time between them, and how much the slots of
// a node share its disk.
type arrivals struct {
	stages  []stage
	jobs    int
	every   time.Duration
	sharing float64
}

func (a arrivals) scenario(name string) scenario { return scenario{name, a.trial} }

func (a arrivals) trial(seed uint64) trial.Setup {
	random := rand.New(rand.NewPCG(seed, 2008))
	setup := trial.Setup{Slots: slots, Speeds: speeds(random), Period: time.Minute, Sharing: a.sharing}
	for k := range a.jobs {
		load := trial.Load{Submit: time.Duration(k) * a.every}
		for _, s := range a.stages {
			work := make([]time.Duration, s.tasks)
			for i := range work {
				work[i] = time.Duration((0.9 + 0.2*random.Float64()) * float64(2*time.Minute))
			}
			load.Stages = append(load.Stages, trial.Stage{Work: work, Parts: s.parts})
		}
		setup.Jobs = append(setup.Jobs, load)
	}
	return setup
}

// speeds are those of each node in each minute of four hours.
func speeds(random *rand.Rand) [][]float64 {
	all := make([][]float64, nodes)
	for n := range all {
		speed := 1.0
		switch {
		case n < nodes*5/100:
			speed = 0.2
		case n < nodes*15/100:
			speed = 0.4
		case n < nodes*40/100:
			speed = 0.7
		}
		all[n] = make([]float64, 240)
		for m := range all[n] {
			all[n][m] = speed * (0.8 + 0.4*random.Float64())
		}
	}
	random.Shuffle(nodes, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
