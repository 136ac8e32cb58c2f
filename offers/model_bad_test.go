package offers_test

import (
	"errors"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// doAcceptBad names an offer that can be accepted, and something that cannot:
// nothing changes.
func (m *model) doAcceptBad(t *rapid.T) {
	f := m.pick(t)
	good := one(t, "offer", f.offers)
	if good.late(m.now) {
		t.Skip("it is late")
	}
	whole := []offers.Task{{Need: good.Room}}
	bad, reason := m.badOffer(t, f, good)
	launches := []offers.Launch{{Offers: []offers.OfferID{good.ID}, Tasks: whole}}
	switch first := &launches[0]; rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		first.Offers = append(first.Offers, bad)
	case 1:
		first.Tasks, reason = []offers.Task{whole[0], {Need: resources.Vector{0, 1}}}, offers.ErrExceeds
	case 2:
		first.Tasks, reason = []offers.Task{whole[0], {}}, offers.ErrEmpty
	default:
		if errors.Is(reason, offers.ErrMachine) {
			t.Skip("alone it is good")
		}
		launches = append(launches, offers.Launch{Offers: []offers.OfferID{bad}, Tasks: whole})
	}
	_, err := f.h.Accept(m.now, launches...)
	if reason == nil {
		require.Error(t, err)
		return
	}
	require.ErrorIs(t, err, reason)
}

// badOffer draws an offer that cannot be accepted together with a good one, and
// what is wrong with it.
func (m *model) badOffer(t *rapid.T, f *fw, good *room) (offers.OfferID, error) {
	type bad struct {
		id     offers.OfferID
		reason error
	}
	all := []bad{{good.ID, offers.ErrUsed}, {offers.OfferID{}, offers.ErrUnknown}}
	for _, g := range m.all {
		for _, o := range g.offers {
			switch {
			case g != f:
				all = append(all, bad{o.ID, offers.ErrForeign})
			case o.Machine != good.Machine && !o.late(m.now):
				all = append(all, bad{o.ID, offers.ErrMachine})
			}
		}
	}
	for _, id := range f.past {
		all = append(all, bad{id, m.ended[id]})
	}
	b := one(t, "bad offer", all)
	return b.id, b.reason
}
