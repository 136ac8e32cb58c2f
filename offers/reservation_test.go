package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// refiller is another scheduler of the cell. It claims units wherever it finds room, and
// each of its tasks lasts for the same time.
type refiller struct {
	s       *omega.Scheduler
	length  time.Duration
	running []refilled
}

type refilled struct {
	id    omega.AllocationID
	until time.Time
}

func (r *refiller) step(t *testing.T, now time.Time) {
	t.Helper()
	for len(r.running) > 0 && !r.running[0].until.After(now) {
		require.NoError(t, r.s.Release(r.running[0].id))
		r.running = r.running[1:]
	}
	for range 200 {
		r.s.Snapshot().Refresh(now)
		m, ok := r.s.Snapshot().Find(omega.Query{Need: resources.Vector{1}}, omega.NextFit())
		if !ok {
			return
		}
		tx := omega.Txn{Now: now}
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		_, err := r.s.Commit(&tx)
		require.NoError(t, err)
		if id, ok := tx.Allocation(0); ok {
			// Tasks end one after the other, so that a whole machine is never free by luck.
			r.running = append(r.running, refilled{id, now.Add(r.length)})
			return
		}
	}
}

// A scheduler that is no framework takes each unit of room at once. A need of a framework
// waits for no longer than one of its tasks lasts: its room is reserved in the cell.
func TestRequest_StartsWithinOneAllocationBesideAnotherScheduler(t *testing.T) {
	tests := map[string]struct {
		machines int
		request  offers.Request
	}{
		"most of a machine":        {1, offers.Request{Machines: 1, Each: resources.Vector{3}}},
		"a whole machine":          {1, offers.Request{Machines: 1, Each: resources.Vector{4}}},
		"one of several machines":  {3, offers.Request{Machines: 1, Each: resources.Vector{4}}},
		"a gang of whole machines": {3, offers.Request{Machines: 2, Each: resources.Vector{4}}},
		"a gang of all machines":   {2, offers.Request{Machines: 2, Each: resources.Vector{3}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, tt.machines, resources.Vector{4})
			other, err := cell.Register("other", omega.Limits{})
			require.NoError(t, err)
			length := time.Duration(4*tt.machines) * time.Second
			fill := refiller{s: other, length: length}
			for s := range 4 * tt.machines {
				fill.step(t, start.Add(time.Duration(s-4*tt.machines)*time.Second))
			}
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f"})
			require.NoError(t, f.Suppress(start))
			id, err := f.Request(start, tt.request)
			require.NoError(t, err)
			for s := 0; ; s++ {
				now := at(float64(s))
				require.LessOrEqual(t, now.Sub(start), length+time.Second, "it waits on")
				require.NoError(t, m.Step(now))
				if answers := read(t, f, now).Answers; len(answers) > 0 {
					require.Equal(t, id, answers[0].Request)
					require.Len(t, answers[0].Offers, tt.request.Machines)
					break
				}
				fill.step(t, now)
			}
			other.Snapshot().Refresh(at(100))
			for r := range other.Snapshot().Reservations() {
				require.Fail(t, "a reservation is left", fmt.Sprint(r))
			}
		})
	}
}
