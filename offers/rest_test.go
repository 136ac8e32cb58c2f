package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// The rest of offers of both kinds is hidden on request, also where the tasks need just
// the room that was kept for them.
func TestAccept_FiltersTheRestOfOffersOfBothKinds(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: true}})
	f := register(t, m, offers.Registration{Name: "f"})
	_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}})
	require.NoError(t, err)
	news := read(t, f, start)
	require.Len(t, news.Answers, 1)
	require.Len(t, news.Offers, 1, "of what is left")
	_, err = f.Accept(start, offers.Launch{
		Offers: []offers.OfferID{news.Answers[0].Offers[0].ID, news.Offers[0].ID},
		Tasks:  []offers.Task{{Need: resources.Vector{4}}}, Filter: true, Refuse: offers.For(time.Minute),
	})
	require.NoError(t, err)
	require.NoError(t, m.Step(at(1)))
	require.Empty(t, read(t, f, at(1)).Offers)
	require.NoError(t, m.Step(at(60)))
	require.Len(t, read(t, f, at(60)).Offers, 1)
}

// A request for a gang ends at its deadline, whether or not a Step comes then.
func TestRequest_IsNotGrantedAfterItsDeadline(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	holder := register(t, m, offers.Registration{Name: "holder"})
	tasks, err := holder.Accept(start, launch(read(t, holder, start).Offers[0].ID, 10))
	require.NoError(t, err)
	f := register(t, m, offers.Registration{Name: "f"})
	id, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Deadline: at(5)})
	require.NoError(t, err)
	require.NoError(t, holder.Release(at(5), tasks...))
	require.Equal(t, []offers.Answer{{Request: id, Reason: offers.ErrExpired}}, read(t, f, at(5)).Answers)
}
