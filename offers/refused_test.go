package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// thief claims room while the master asks for an order: between its look at the machines
// and its claim.
type thief struct {
	offers.DRF
	steal func()
}

func (o *thief) Rank(s offers.Standing) float64 {
	if steal := o.steal; steal != nil && s.Chosen {
		o.steal = nil
		steal()
	}
	return o.DRF.Rank(s)
}

// What a framework was about to be offered, and another scheduler was faster to claim, is
// not charged to it: neither to itself, nor to its account and role.
func TestMaster_ChargesNothingForAClaimThatIsRefused(t *testing.T) {
	const machines = 37
	for name, others := range map[string]int{"to one": 1, "to several": 3} {
		t.Run(name, func(t *testing.T) {
			cell, ids := newCell(t, machines, resources.Vector{10})
			order := new(thief)
			m := newMaster(t, cell, offers.Config{Order: order})
			rival, err := cell.Register("rival", omega.Limits{})
			require.NoError(t, err)
			account := accountOf(cell, "shared")
			var frameworks []*offers.Framework
			for i := range others {
				frameworks = append(frameworks, register(t, m, offers.Registration{
					Name: string(rune('a' + i)), Role: "r", Account: account, Outstanding: 1, Suppressed: true,
				}))
			}
			require.NoError(t, m.Step(start))
			order.steal = func() {
				var tx omega.Txn
				for _, id := range ids[1:] {
					tx.Claim(omega.Claim{Machine: id, Need: resources.Vector{10}})
				}
				granted, err := rival.Commit(&tx)
				require.NoError(t, err)
				require.Equal(t, machines-1, granted)
			}
			for _, f := range frameworks {
				require.NoError(t, f.Revive(start))
			}
			require.Nil(t, order.steal)
			left := int64(0)
			for st := range cell.Machines() {
				left += st.Free[0]
			}
			for _, f := range frameworks {
				held, offered := f.Held()
				require.Equal(t, resources.Vector{10 - left}, held)
				got := int64(0)
				for _, o := range read(t, f, start).Offers {
					got += o.Room[0]
				}
				require.Equal(t, got, offered[0])
			}
			usage, err := cell.Usage(account)
			require.NoError(t, err)
			require.Equal(t, resources.Vector{10 - left}, usage)
			require.Zero(t, left, "it is offered")
		})
	}
}
