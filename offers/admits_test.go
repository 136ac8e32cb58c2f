package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Admits of several frameworks returns the error of registering them one after the other.
func TestAdmits_AgreesWithRegister(t *testing.T) {
	named := func(name string) offers.Registration { return offers.Registration{Name: name} }
	guaranteed := func(name string, q int64, epoch uint64) offers.Registration {
		return offers.Registration{Name: name, Epoch: epoch, Guaranteed: resources.Vector{q}}
	}
	for name, c := range map[string]struct {
		who  []offers.Registration
		want error
	}{
		"nobody":              {nil, nil},
		"good ones":           {[]offers.Registration{named("a"), named("b")}, nil},
		"a bad one":           {[]offers.Registration{named("a"), named("b/")}, offers.ErrName},
		"no weight":           {[]offers.Registration{named("a"), {Name: "b", Weight: -1}}, offers.ErrWeight},
		"one that is there":   {[]offers.Registration{named("a"), named("there")}, offers.ErrName},
		"a standby":           {[]offers.Registration{named("a"), {Name: "there", Epoch: 1}}, nil},
		"twice":               {[]offers.Registration{named("a"), named("a")}, offers.ErrName},
		"an unknown account":  {[]offers.Registration{named("a"), {Name: "b", Account: 1 << 20}}, omega.ErrUnknown},
		"guarantees that fit": {[]offers.Registration{guaranteed("a", 3, 0), guaranteed("b", 3, 0)}, nil},
		"too much together":   {[]offers.Registration{guaranteed("a", 3, 0), guaranteed("b", 4, 0)}, offers.ErrGuarantee},
		"one that needs less": {[]offers.Registration{guaranteed("there", 1, 1), guaranteed("b", 9, 0)}, nil},
		"one less too much":   {[]offers.Registration{guaranteed("there", 1, 1), guaranteed("b", 10, 0)}, offers.ErrGuarantee},
		"one that needs more": {[]offers.Registration{guaranteed("there", 5, 1), guaranteed("b", 6, 0)}, offers.ErrGuarantee},
	} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{})
			there := register(t, m, guaranteed("there", 4, 0))
			said := m.Admits(c.who...)
			require.ErrorIs(t, said, c.want)
			require.Equal(t, said, m.Admits(c.who...), "it has changed nothing")
			require.Len(t, read(t, there, start).Offers, 1)
			for i, r := range c.who {
				_, err := m.Register(start, r)
				if i < len(c.who)-1 || c.want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, c.want)
				}
			}
		})
	}
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	newMaster(t, cell, offers.Config{})
	require.ErrorIs(t, m.Admits(), offers.ErrFenced)
}
