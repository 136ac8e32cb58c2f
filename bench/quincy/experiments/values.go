package experiments

import (
	"math"
	"slices"
	"time"
)

// value is one number of a run.
type value struct {
	name  string
	value float64
}

// small is the most tasks of a small job.
const small = 10

// Names of figures.
const (
	CoreGB    = "core GB" // moved over the core switch
	CoreShare = "core %"  // of that in all bytes read
	RackShare = "rack %"
	AtData    = "at data %" // of tasks that ran where all their input is
	InRack    = "in rack %" // where it is in the rack
	Mean      = "mean s"    // job completion
	Median    = "p50 s"
	P95       = "p95 s"
	Small     = "small s" // the mean of jobs of ten tasks at most
	Large     = "large s" // and of the others
	Makespan  = "makespan s"
	Speed     = "SNP"        // the geometric mean of how long a job would take alone by what it took
	Unfair    = "unfairness" // the coefficient of variation of that
	Jain      = "Jain"       // index of slot time held by slot time due, over jobs
	Stopped   = "stopped"    // tasks
	Forced    = "forced"     // of these as many as shares asked for, if the policy preempts
	Present   = "jobs"       // that have not ended, the mean of the rounds
	Lost      = "lost %"     // of slot time, in these
	Each      = "lost s"     // of slot time, in one of these
	Decision  = "round ms"   // CPU time of the policy in a round that it was asked in
	Worst     = "worst ms"   // of these
)

// values returns the reported figures of a run.
func (t *tally) values() []value {
	var took, low, high, speed, held []float64
	for _, c := range t.finished {
		s := c.took.Seconds()
		took = append(took, s)
		if c.tasks <= small {
			low = append(low, s)
		} else {
			high = append(high, s)
		}
		speed = append(speed, c.alone.Seconds()/s)
		if c.due > 0 {
			held = append(held, float64(c.held)/float64(c.due))
		}
	}
	slices.Sort(took)
	share := func(part, of int64) float64 { return 100 * float64(part) / float64(max(of, 1)) }
	tasks := int64(t.levels[onNode] + t.levels[inRack] + t.levels[beyond])
	millis := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return []value{
		{CoreGB, float64(t.core) / gib},
		{CoreShare, share(t.core, t.read)},
		{RackShare, share(t.rack, t.read)},
		{AtData, share(int64(t.levels[onNode]), tasks)},
		{InRack, share(int64(t.levels[inRack]), tasks)},
		{Mean, mean(took)},
		{Median, quantile(took, 0.5)},
		{P95, quantile(took, 0.95)},
		{Small, mean(low)},
		{Large, mean(high)},
		{Makespan, (t.last - t.first).Seconds()},
		{Speed, geometric(speed)},
		{Unfair, variation(speed)},
		{Jain, jain(held)},
		{Stopped, float64(t.stops)},
		{Forced, float64(t.forced)},
		{Present, float64(t.present) / float64(max(t.rounds, 1))},
		{Lost, share(int64(t.lost), int64(t.lost+t.useful))},
		{Each, t.lost.Seconds() / float64(max(t.stops, 1))},
		{Decision, millis(t.spent) / float64(max(t.rounds, 1))},
		{Worst, millis(t.worst)},
	}
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

// quantile is the least value that a share q of them do not exceed; x is sorted.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return x[max(0, int(math.Ceil(q*float64(len(x))))-1)]
}

func geometric(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(max(len(x), 1)))
}

// variation is the standard deviation by the mean.
func variation(x []float64) float64 {
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	if m == 0 {
		return 0
	}
	return math.Sqrt(sum/float64(len(x))) / m
}

// jain is 1 if all are the same, and 1/n if one of n has everything.
func jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(x)) * squares)
}
