//go:build explore

package omega

import (
	"fmt"
	"math"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// slotForms are needs of all forms that a slot has; an allocation of the last one is far.
var slotForms = [...]resources.Vector{
	{1, 2, 3},                // two words
	{0, 0, math.MaxUint32},   // one word
	{1 << 40, 5, 6, 1 << 50}, // four words
	{7},
}

// taker takes slots for allocations as commits do.
type taker struct {
	at      table
	tallies [2]*tally
}

// record returns the record of allocation i, of that form.
func (k *taker) record(i, form int) record {
	rec := record{need: slotForms[form], tally: k.tallies[i], grantee: uint64(form)}
	if form == len(slotForms)-1 {
		rec.ext = &extension{}
	}
	return rec
}

func (k *taker) take(rec record, seq uint64) AllocationID {
	it := &item{claim: Claim{Need: rec.need}, tally: rec.tally, grantee: rec.grantee}
	s := &Scheduler{cell: k.at.cell}
	if !s.place(new(Txn), it, rec.ext, &live{}, k.at, seq) {
		panic("no slot")
	}
	return it.id
}

// A slot is taken by one allocation after another, of all forms. Its reader by the ID of
// one of them reads that or nothing, and the release of one leaves the next alone.
func TestExplore_SlotsAreReadByTheirIDs(t *testing.T) {
	for first := range slotForms {
		for second := range slotForms {
			exploreAll(t, 2, func(r *explore.Run) {
				cell := exploredCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1}}}})
				s := must(cell.Register("s", Limits{}))
				k := &taker{at: cell.table(0), tallies: [2]*tally{cell.tally(s.owner, 0, 0), cell.tally(s.owner, 0, 1)}}
				before, after := k.record(0, first), k.record(1, second)
				old := k.take(before, 2)
				var next AllocationID
				r.Go("release", func() {
					if !k.at.beginRelease(old) {
						panic("another goroutine has released it")
					}
					k.at.empty(old.slot(), old.seq)
				})
				r.Go("take", func() { next = k.take(after, 3) })
				var wrong error
				r.Go("read", func() {
					for i, want := range []record{before, after} {
						var got record
						if k.at.get(allocationID(0, 0, cell.tag, uint64(i)+2), &got) && got != want {
							wrong = fmt.Errorf("allocation %d is %v, want %v", i, got, want)
						}
					}
				})
				r.Check(func() error {
					var got record
					switch {
					case wrong != nil:
						return wrong
					case k.at.get(old, &got):
						return fmt.Errorf("released, and still %v", got)
					case !k.at.get(next, &got) || got != after:
						return fmt.Errorf("%v, want %v", got, after)
					}
					return nil
				})
			})
		}
	}
}
