package offers_test

import (
	"github.com/cellsched/cellsched/resources"
)

// longFits tells whether more long tasks are sure to be within the caps, and whether
// they can be: tasks that were taken away and have not stopped may count or not.
func (m *model) longFits(more []task) (sure, can bool) {
	var all, atLeast []task
	for _, f := range m.all {
		for _, one := range f.tasks {
			atLeast = append(atLeast, one)
		}
		for _, l := range f.lost {
			all = append(all, l.task)
		}
	}
	all, atLeast = append(append(all, atLeast...), more...), append(atLeast, more...)
	sure, can = true, true
	inCell, most := m.totals()
	for _, one := range more {
		if !one.long {
			continue
		}
		onMachine, mostOn := m.size(one.machine)
		here := func(l task) bool { return l.machine == one.machine }
		there := func(task) bool { return true }
		sure = sure && longOf(all, here).Fits(capOf(onMachine, m.cfg.LongOnMachine)) && longOf(all, there).Fits(capOf(inCell, m.cfg.LongInCell))
		can = can && longOf(atLeast, here).Fits(capOf(mostOn, m.cfg.LongOnMachine)) && longOf(atLeast, there).Fits(capOf(most, m.cfg.LongInCell))
	}
	return sure, can
}

// longOf returns what those of some tasks add up to that are long.
func longOf(tasks []task, are func(task) bool) (sum resources.Vector) {
	for _, one := range tasks {
		if one.long && are(one) {
			sum = sum.Add(one.need)
		}
	}
	return sum
}

// capOf returns the part of a total that long tasks may hold; 0 is no cap.
func capOf(total resources.Vector, p int) resources.Vector {
	if p == 0 {
		return resources.Vector{resources.MaxQuantity, resources.MaxQuantity}
	}
	return percent(total, p)
}
