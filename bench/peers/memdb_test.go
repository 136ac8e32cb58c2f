package peers_test

import (
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
	"github.com/cellsched/cellsched/bench/peers/internal/memcell"
)

// memPlacer is the cell in go-memdb, best fit by cpu.
type memPlacer struct {
	tb   testing.TB
	cell *memcell.Cell
	held []int // by task
}

// openMemDB opens a cell for one scheduler.
func openMemDB(tb testing.TB, s setting) []placer {
	tb.Helper()
	rows := make([]memcell.Machine, s.machines)
	for i := range rows {
		rows[i] = memcell.Machine{ID: i, CPU: s.capacity[0], Memory: s.capacity[1], GPU: s.capacity[2]}
	}
	cell, err := memcell.New(rows)
	if err != nil {
		tb.Fatal(err)
	}
	return []placer{&memPlacer{tb, cell, make([]int, s.tasks)}}
}

func (p *memPlacer) conflicts() int { return 0 }

func (p *memPlacer) place(task int, need *load.Need) bool {
	id, err := p.cell.Claim(need[0], need[1], need[2])
	if err != nil {
		p.tb.Error(err)
	}
	p.held[task] = id
	return id != 0
}

func (p *memPlacer) release(task int) {
	if err := p.cell.Release(p.held[task]); err != nil {
		p.tb.Error(err)
	}
}
