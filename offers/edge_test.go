package offers_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// century is the longest length of time that ends.
const century = 100 * 365 * 24 * time.Hour

// Lengths of time near the largest one do not end: no time that follows from them is in
// the past, or beyond what other programs can represent.
func TestSpan_AtTheEdge(t *testing.T) {
	require.Equal(t, offers.Never(), offers.For(century+1))
	require.NotEqual(t, offers.Never(), offers.For(century))
	require.Equal(t, "never", offers.For(math.MaxInt64-1).String())
	for name, span := range map[string]offers.Span{
		"never": offers.Never(), "less than that": offers.For(math.MaxInt64 - 1), "a century": offers.For(century), "half of it": offers.For(math.MaxInt64 / 2),
	} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{10})
			cfg := offers.Config{Timeout: span, Interval: span, Recovery: span, Grace: span, Liveness: span}
			m := newMaster(t, cell, cfg)
			f := register(t, m, offers.Registration{Name: "f", Failover: span})
			latest := start.Add(century)
			o := read(t, f, start).Offers[0]
			require.False(t, o.Deadline.After(latest), o.Deadline)
			require.False(t, !o.Deadline.IsZero() && o.Deadline.Before(latest))
			_, err := f.Accept(start, launch(o.ID, 10))
			require.NoError(t, err)
			owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
			_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
			require.NoError(t, err)
			notice := read(t, f, start).Revoked[0]
			require.False(t, notice.Until.After(latest), notice.Until)
			require.False(t, !notice.Until.IsZero() && notice.Until.Before(latest))
			require.NoError(t, f.Disconnect(start))
			decade := start.AddDate(10, 0, 0)
			require.NoError(t, m.Step(decade))
			require.Len(t, cell.AllocationsOn(o.Machine), 1)
			next, due := m.Next()
			require.True(t, !due || next.After(decade) && !next.After(decade.Add(century)), next)

			successor, err := offers.New(cell, cfg, decade)
			require.NoError(t, err)
			require.NoError(t, successor.Step(decade.AddDate(50, 0, 0)))
			require.Len(t, cell.AllocationsOn(o.Machine), 1)
			f, err = successor.Register(decade.AddDate(50, 0, 0), offers.Registration{Name: "f"})
			require.NoError(t, err)
			for a := range f.Tasks() {
				require.NoError(t, f.Release(decade.AddDate(50, 0, 0), a.ID))
			}
			require.Len(t, read(t, f, decade.AddDate(50, 0, 0)).Offers, 1)
		})
	}
}

// Victims that have for ever to leave are told so, and their room is had when they leave.
func TestRequest_RevokesWithoutEnd(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Grace: offers.Never()})
	f := register(t, m, offers.Registration{Name: "f"})
	tasks, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
	_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	require.Zero(t, read(t, f, start).Revoked[0].Until)
	require.NoError(t, m.Step(start.Add(time.Second)))
	require.Empty(t, read(t, f, start).Tasks)
	f, err = m.Register(at(2), offers.Registration{Name: "f", Epoch: 1})
	require.NoError(t, err)
	require.Zero(t, read(t, f, at(2)).Revoked[0].Until, "it is told again")
	require.NoError(t, f.Release(at(3), tasks...))
	require.Len(t, read(t, owner, at(3)).Answers, 1)
}

// A slice that is as long as can be is the first one's for a hundred years.
func TestTimeBox_AtTheEdge(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	s, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	b, err := offers.NewTimeBox(start, math.MaxInt64, nil, s, other)
	require.NoError(t, err)
	holder, until := b.Step(start.AddDate(50, 0, 0))
	require.Equal(t, s, holder)
	require.Equal(t, start.Add(century), until)
}
