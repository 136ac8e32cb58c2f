package peers_test

import (
	"slices"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
	"github.com/cellsched/cellsched/bench/peers/internal/lockcell"
)

// lockPlacer is one goroutine's use of the cell under a mutex, next fit.
type lockPlacer struct {
	tb     testing.TB
	cell   *lockcell.Cell
	held   []lockcell.Handle // by task, shared with the cell's other placers
	missed int
}

func openNextFit(tb testing.TB, s setting) []placer {
	tb.Helper()
	return openLock(tb, s, lockcell.Chunks, func(p *lockPlacer) placer { return p })
}

// openAppend keeps the claims in one slice that grows by append.
func openAppend(tb testing.TB, s setting) []placer {
	tb.Helper()
	return openLock(tb, s, lockcell.Append, func(p *lockPlacer) placer { return p })
}

func openFirstFit(tb testing.TB, s setting) []placer {
	tb.Helper()
	return openLock(tb, s, lockcell.Chunks, func(p *lockPlacer) placer { return firstFitPlacer{p} })
}

func openChecked(tb testing.TB, s setting) []placer {
	tb.Helper()
	return openLock(tb, s, lockcell.Chunks, func(p *lockPlacer) placer { return checkedPlacer{p} })
}

func openLock(tb testing.TB, s setting, growth lockcell.Growth, as func(*lockPlacer) placer) []placer {
	tb.Helper()
	capacity := slices.Repeat([]lockcell.Vector{lockVector(&s.capacity)}, s.machines)
	cell := lockcell.New(capacity, growth)
	held := make([]lockcell.Handle, s.tasks)
	placers := make([]placer, s.schedulers)
	for i := range placers {
		placers[i] = as(&lockPlacer{tb: tb, cell: cell, held: held})
	}
	return placers
}

func lockVector(n *load.Need) lockcell.Vector {
	return lockcell.Vector{CPU: n[0], Memory: n[1], GPU: n[2]}
}

func (p *lockPlacer) conflicts() int { return p.missed }

func (p *lockPlacer) place(task int, need *load.Need) (ok bool) {
	p.held[task], ok = p.cell.Claim(lockVector(need))
	return ok
}

func (p *lockPlacer) release(task int) {
	if err := p.cell.Release(p.held[task]); err != nil {
		p.tb.Error(err)
	}
}

func (p *lockPlacer) placeJob(first int, need *load.Need, k int) int {
	return len(p.cell.ClaimJob(p.held[first:first:first+k], lockVector(need), k))
}

func (p *lockPlacer) placeGang(first int, need *load.Need, k int) bool {
	_, ok := p.cell.ClaimGang(p.held[first:first:first+k], lockVector(need), k)
	return ok
}

func (p *lockPlacer) releaseGang(first, k int) {
	if err := p.cell.ReleaseAll(p.held[first : first+k]); err != nil {
		p.tb.Error(err)
	}
}

// stall stops where it can hurt: with the mutex held.
func (p *lockPlacer) stall(_ *load.Need, wait func()) { p.cell.Hold(wait) }

func (p *lockPlacer) placeThinking(task int, need *load.Need, think func()) (ok bool) {
	p.held[task], ok = p.cell.ClaimHeld(lockVector(need), think)
	return ok
}

// checkedPlacer thinks without the mutex and then looks again.
type checkedPlacer struct{ *lockPlacer }

func (p checkedPlacer) placeThinking(task int, need *load.Need, think func()) (ok bool) {
	var conflicts int
	p.held[task], conflicts, ok = p.cell.ClaimChecked(lockVector(need), think)
	p.missed += conflicts
	return ok
}

// firstFitPlacer searches from the first machine on.
type firstFitPlacer struct{ *lockPlacer }

func (p firstFitPlacer) place(task int, need *load.Need) (ok bool) {
	p.held[task], ok = p.cell.ClaimFirst(lockVector(need))
	return ok
}
