package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Source is a source of the jobs of one class: Omega paper, section 4.
// Times are in seconds; tasks are rounded up to a whole number, at least 1.
type Source struct {
	Class                  Class
	Between, Tasks, Length Distribution // inter-arrival time, tasks, their duration
	Need                   resources.Vector
}

func (s *Source) check() error {
	for _, d := range []struct {
		what string
		of   Distribution
	}{{"inter-arrival time", s.Between}, {"tasks", s.Tasks}, {"duration", s.Length}} {
		if d.of == nil {
			return fmt.Errorf("%s: no distribution: want one", d.what)
		}
		if err := d.of.check(); err != nil {
			return fmt.Errorf("%s: %w", d.what, err)
		}
	}
	return nil
}

// Generate returns the jobs that the sources submit before the horizon, by time
// of submission; the horizon is at most a century. Each source has a sequence of
// random numbers of its own, so that a change of one does not change the jobs of the
// others. Errors: [ErrConfig].
func Generate(seed uint64, horizon time.Duration, sources ...Source) ([]Job, error) {
	if horizon < 0 || horizon > maxTime {
		return nil, fmt.Errorf("%w: horizon %v: want 0 or more, up to %v", ErrConfig, horizon, maxTime)
	}
	var jobs []Job
	for i, s := range sources {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%w: source %d (%v): %w", ErrConfig, i, s.Class, err)
		}
		r := rand.New(rand.NewPCG(seed, sourceStream+uint64(i)))
		barren := 0
		for at := time.Duration(0); ; {
			step := Seconds(min(s.Between.Draw(r), maxTime.Seconds()))
			if barren++; step > 0 {
				barren = 0
			} else if barren == barrenDraws {
				return nil, fmt.Errorf("%w: source %d (%v): inter-arrival time: %d times 0 in a row: want more", ErrConfig, i, s.Class, barren)
			}
			if at += step; at >= horizon {
				break
			}
			tasks, length := math.Ceil(s.Tasks.Draw(r)), s.Length.Draw(r)
			if tasks > math.MaxInt32 || length > maxTime.Seconds() {
				return nil, fmt.Errorf("%w: source %d (%v): a job of %v tasks of %v s: want at most %d tasks, %v s",
					ErrConfig, i, s.Class, tasks, length, math.MaxInt32, maxTime.Seconds())
			}
			jobs = append(jobs, Job{
				Class: s.Class, Submit: at, Need: s.Need, Tasks: max(1, int(tasks)), Duration: Seconds(length),
			})
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return int(min(max(a.Submit-b.Submit, -1), 1)) })
	return jobs, nil
}

// barrenDraws is after how many jobs at one moment a source is taken for one
// that never gets on.
const barrenDraws = 1_000_000

// Streams of random numbers that belong to one seed.
const (
	sourceStream    = 1 << 32
	prefillStream   = 2 << 32
	schedulerStream = 3 << 32
	sparrowStream   = 4 << 32
)

// Seconds returns a duration of that many seconds, to the nanosecond.
func Seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }
