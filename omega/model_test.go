package omega_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// modelMachine is what the model knows of a machine: one number and a flag.
type modelMachine struct {
	id       omega.MachineID
	free     int64
	draining bool
}

// modelAllocation is a live allocation in the model.
type modelAllocation struct {
	machine *modelMachine
	owner   int
	need    int64
}

// The whole API against an obviously right model: two schedulers take turns.
func TestCell_BehavesLikeTheModel(t *testing.T) {
	const capacity = 12
	rapid.Check(t, func(t *rapid.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		var (
			schedulers [2]*omega.Scheduler
			machines   []*modelMachine
			live       = map[omega.AllocationID]modelAllocation{}
			gone       = map[omega.AllocationID]int{} // lost and not yet released, by owner
			order      []omega.AllocationID           // of live, in the order granted
			names      int
		)
		for i := range schedulers {
			schedulers[i], err = cell.Register(fmt.Sprint(i), omega.Limits{})
			require.NoError(t, err)
		}
		draw := func(t *rapid.T) *modelMachine {
			if len(machines) == 0 {
				t.Skip("no machine")
			}
			return machines[rapid.IntRange(0, len(machines)-1).Draw(t, "machine")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if len(machines) == 4 {
					t.Skip("enough")
				}
				id, err := cell.Add(omega.Machine{Name: fmt.Sprint("m", names), Capacity: resources.Vector{capacity}})
				names++
				require.NoError(t, err)
				machines = append(machines, &modelMachine{id: id, free: capacity})
			},
			"drain or resume": func(t *rapid.T) {
				m := draw(t)
				change := cell.Drain
				if m.draining {
					change = cell.Resume
				}
				require.NoError(t, change(m.id))
				m.draining = !m.draining
			},
			"remove": func(t *rapid.T) {
				m := draw(t)
				lost, err := cell.Remove(m.id)
				require.NoError(t, err)
				for _, a := range lost {
					require.Equal(t, m, live[a.ID].machine)
					require.Equal(t, live[a.ID].need, a.Need[0])
					gone[a.ID] = live[a.ID].owner
					delete(live, a.ID)
				}
				for _, a := range live {
					require.NotEqual(t, m, a.machine, "an allocation that was not reported lost")
				}
				for i := range machines {
					if machines[i] == m {
						machines = append(machines[:i], machines[i+1:]...)
						break
					}
				}
			},
			"commit": func(t *rapid.T) {
				who := rapid.IntRange(0, 1).Draw(t, "scheduler")
				tx := omega.Txn{Gang: rapid.Bool().Draw(t, "gang")}
				var claims []modelAllocation
				for range rapid.IntRange(0, 4).Draw(t, "claims") {
					m, need := draw(t), rapid.Int64Range(0, 8).Draw(t, "need")
					tx.Claim(claim(m.id, need))
					claims = append(claims, modelAllocation{m, who, need})
				}
				var releases []omega.AllocationID
				for range rapid.IntRange(0, 2).Draw(t, "releases") {
					if len(order) > 0 {
						a := order[rapid.IntRange(0, len(order)-1).Draw(t, "allocation")]
						tx.Release(a)
						releases = append(releases, a)
					}
				}
				if tx.Len() == 0 {
					t.Skip("nothing to commit")
				}
				granted, err := schedulers[who].Commit(&tx)
				require.NoError(t, err)

				// Releases come first, in the model as in the cell.
				for i, a := range releases {
					i += len(claims)
					held, isLive := live[a]
					owner, isGone := gone[a]
					switch {
					case isLive && held.owner == who:
						require.NoError(t, tx.Err(i))
						held.machine.free += held.need
						delete(live, a)
					case isLive || isGone && owner != who:
						require.ErrorIs(t, tx.Err(i), omega.ErrNotOwner)
					case isGone:
						require.NoError(t, tx.Err(i))
						delete(gone, a)
					default:
						require.ErrorIs(t, tx.Err(i), omega.ErrReleased)
					}
				}
				// Claims in the order given, each machine on its own.
				fits := make([]bool, len(claims))
				room, all := map[*modelMachine]int64{}, true
				for i, c := range claims {
					if _, ok := room[c.machine]; !ok {
						room[c.machine] = c.machine.free
					}
					if fits[i] = !c.machine.draining && c.need <= room[c.machine]; fits[i] {
						room[c.machine] -= c.need
					}
					all = all && fits[i]
				}
				for i, c := range claims {
					a, ok := tx.Allocation(i)
					require.Equal(t, fits[i] && (all || !tx.Gang), ok, "claim %d: %v", i, tx.Err(i))
					if ok {
						c.machine.free -= c.need
						live[a], order = c, append(order, a)
						granted--
					} else {
						require.Error(t, tx.Err(i))
					}
				}
				require.Zero(t, granted)
			},
			"": func(t *rapid.T) {
				require.NoError(t, cell.Check())
				n := 0
				for range cell.Allocations() {
					n++
				}
				require.Len(t, live, n)
				for _, m := range machines {
					state, ok := cell.State(m.id)
					require.True(t, ok)
					require.Equal(t, m.free, state.Free[0])
					require.Equal(t, m.draining, state.Condition == omega.Draining)
				}
				for _, s := range schedulers {
					s.Snapshot().Refresh(time.Time{})
					for m := range s.Snapshot().Machines() {
						state, _ := cell.State(m.ID)
						require.Equal(t, state, m)
					}
				}
			},
		})
	})
}
