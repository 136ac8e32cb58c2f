package simulate

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// usage is the resources in use over time.
type usage struct {
	now   resources.Vector
	area  [2]float64    // by kind: base units × seconds, up to since
	since time.Duration // the last change
}

// add changes the resources in use by so many tasks from now on.
func (u *usage) add(need resources.Vector, tasks int64, now time.Duration) {
	u.integrate(now)
	for k, q := range need {
		u.now[k] += q * tasks
	}
}

func (u *usage) integrate(now time.Duration) {
	d := (now - u.since).Seconds()
	for k := range u.area {
		u.area[k] += float64(u.now[k]) * d
	}
	u.since = now
}

// mean returns the mean share of a cell that was in use until now.
func (u *usage) mean(c *Cell, now time.Duration) (share [2]float64) {
	u.integrate(now)
	for k := range share {
		if all := float64(c.Capacity[k]) * float64(c.Machines) * now.Seconds(); all > 0 {
			share[k] = u.area[k] / all
		}
	}
	return share
}
