//go:build explore

package omega

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// takingFrom returns a transaction that claims units of the first machine from
// a victim, which has a minute to stop.
func takingFrom(units int64, p Precedence, victims ...AllocationID) *Txn {
	tx := &Txn{Now: time.Unix(1, 0), Grace: time.Minute}
	tx.Claim(Claim{Machine: explored(0), Need: resources.Vector{units}, Precedence: p, Victims: victims})
	return tx
}

// claiming returns a transaction that claims units of machines.
func claiming(units int64, p Precedence, machines ...uint32) *Txn {
	tx := &Txn{Gang: len(machines) > 1}
	for _, m := range machines {
		tx.Claim(Claim{Machine: explored(m), Need: resources.Vector{units}, Precedence: p})
	}
	return tx
}

// plans are the changes of a cell while it is saved or dumped.
var plans = map[string]func() plan{
	"preemption and release": func() plan {
		c := newCell(1, 2)
		low, high := must(c.Register("low", Limits{})), must(c.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, claiming(2, 0, 0))
		return plan{c, [][]func(){
			{func() { grantOf(high, takingFrom(1, 1, victim)) }},
			{func() { must(0, low.Release(victim)) }},
		}}
	},
	"release of two that are leaving": func() plan {
		c := newCell(1, 2)
		low, high := must(c.Register("low", Limits{})), must(c.Register("high", Limits{Highest: 1}))
		a, _ := grantOf(low, claiming(1, 0, 0))
		b, _ := grantOf(low, claiming(1, 0, 0))
		grantOf(high, takingFrom(2, 1, a, b))
		return plan{c, [][]func(){
			{func() { must(0, low.Release(a)) }, func() { must(0, low.Release(b)) }},
		}}
	},
	"claim, and release of what is leaving": func() plan {
		c := newCell(2, 1)
		low, high := must(c.Register("low", Limits{})), must(c.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, claiming(1, 0, 1))
		tx := &Txn{Now: time.Unix(1, 0), Grace: time.Minute}
		tx.Claim(Claim{Machine: c.machine(1, 0), Need: resources.Vector{1}, Precedence: 1, Victims: []AllocationID{victim}})
		must(high.Commit(tx))
		return plan{c, [][]func(){
			{func() { must(low.Commit(claiming(1, 0, 0))) }, func() { must(0, low.Release(victim)) }},
		}}
	},
	"release and resizing": func() plan {
		c := newCell(1, 4)
		low, high := must(c.Register("low", Limits{})), must(c.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, claiming(3, 0, 0))
		mine, _ := grantOf(high, claiming(1, 1, 0))
		grantOf(high, takingFrom(1, 1, victim))
		return plan{c, [][]func(){
			{func() { must(0, low.Release(victim)) }},
			{func() {
				tx := &Txn{Now: time.Unix(1, 0)}
				tx.Resize(mine, resources.Vector{3})
				must(high.Commit(tx))
			}},
		}}
	},
	"gang and release": func() plan {
		c := newCell(2, 2)
		a, b := must(c.Register("a", Limits{})), must(c.Register("b", Limits{}))
		held, _ := grantOf(a, claiming(1, 0, 1))
		return plan{c, [][]func(){
			{func() { must(b.Commit(claiming(2, 0, 0, 1))) }},
			{func() { must(0, a.Release(held)) }},
		}}
	},
	"removal and release": func() plan {
		c := newCell(2, 1)
		s := must(c.Register("s", Limits{}))
		held, _ := grantOf(s, claiming(1, 0, 0))
		return plan{c, [][]func(){
			{func() { must(c.Remove(c.machine(0, 0))) }},
			{func() { must(0, s.Release(held)) }},
		}}
	},
	"jobs and release": func() plan {
		c := newCell(1, 1)
		s := must(c.Register("s", Limits{Jobs: 2}))
		must(0, s.BeginJob())
		held, _ := grantOf(s, claiming(1, 0, 0))
		return plan{c, [][]func(){
			{func() { must(0, s.Release(held)) }, func() { must(0, s.EndJob()) }},
		}}
	},
	"succession": func() plan {
		c := newCell(1, 2)
		s := must(c.Register("s", Limits{}))
		held, _ := grantOf(s, claiming(1, 0, 0))
		var heir *Scheduler
		return plan{c, [][]func(){
			{func() { heir = must(c.Replace("s")) }, func() { must(0, heir.Release(held)) }},
		}}
	},
}

// saved saves a cell and returns a function that describes the restored cell.
func saved(c *Cell) func() (string, error) {
	var file bytes.Buffer
	must(0, c.Save(&file))
	return func() (string, error) {
		restored, err := Restore(&file, nil)
		if err != nil {
			return "", fmt.Errorf("what was saved is not restored: %w", err)
		}
		return described(restored), exact(restored)
	}
}

// dumped dumps a cell.
func dumped(c *Cell) func() (string, error) {
	text := dump(c)
	return func() (string, error) { return text, nil }
}

// A cell that is saved while others commit is restored as it was at one moment.
func TestExplore_SaveAgainstCommits(t *testing.T) {
	for name, build := range plans {
		t.Run(name, func(t *testing.T) { exploreStates(t, 2, 1, build, described, saved) })
	}
}

// A dump of a cell while others commit is that of one moment.
func TestExplore_DumpAgainstCommits(t *testing.T) {
	for name, build := range plans {
		t.Run(name, func(t *testing.T) { exploreStates(t, 2, 1, build, dump, dumped) })
	}
}

// Two calls of Save at once wait for one another.
func TestExplore_SaveAgainstSave(t *testing.T) {
	exploreStates(t, 2, 2, func() plan {
		c := newCell(2, 1)
		s := must(c.Register("s", Limits{}))
		return plan{c, [][]func(){{func() { must(s.Commit(claiming(1, 0, 0, 1))) }}}}
	}, described, saved)
}
