package omega

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// A state that no commit makes is reported, also where it adds up.
func TestCheck_ReportsAmountsThatCannotBe(t *testing.T) {
	for text, forge := range map[string]func(v *version, rec *record){
		"free: invalid quantity: kind0=-2, want 0 to 2^62": func(v *version, rec *record) {
			rec.need[0], v.room[0] = 5, -2
		},
		"allocation 0/0/2: invalid quantity: kind1=-1, want 0 to 2^62": func(v *version, rec *record) {
			rec.need[1], v.room[1] = -1, 5
		},
		"allocation 0/0/2: invalid quantity: need is 0 of every kind": func(v *version, rec *record) {
			v.room[0] += rec.need[0]
			rec.need = resources.Vector{}
		},
		"free kind0=1,kind1=4 + allocated kind0=1 = kind0=2,kind1=4, want capacity kind0=3,kind1=4": func(v *version, _ *record) {
			v.room[0]--
		},
	} {
		cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{3, 4}}}})
		require.NoError(t, err)
		s, err := cell.Register("s", Limits{})
		require.NoError(t, err)
		var tx Txn
		tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
		_, err = s.Commit(&tx)
		require.NoError(t, err)
		require.NoError(t, cell.Check())
		a, _ := tx.Allocation(0)
		rec, ok := cell.record(a)
		require.True(t, ok)
		forge(load(cell.words.at(0)), &rec)
		var im image
		im.pack(&rec.need, rec.tally, rec.grantee, rec.ext, cell.layout.size-slotHead)
		cell.table(0).refill(a.slot(), &im)
		require.ErrorContains(t, cell.Check(), `omega: machine "a": `+text)
	}
}
