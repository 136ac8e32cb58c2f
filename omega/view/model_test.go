package view_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// Viewers that come at any time see the states that the machines have, whatever was done
// to the cell meanwhile.
func TestStream_ShowsEachMachineAsItIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			cell, s := newCell(t, rapid.IntRange(0, 40).Draw(rt, "machines"))
			h := view.Handler(view.Config{Cell: cell})
			var live []omega.AllocationID
			type seat struct {
				screen *screen
				colour int
				stop   func()
			}
			var seats []seat
			added := 0
			pick := func() (omega.MachineState, bool) {
				var all []omega.MachineState
				for m := range cell.Machines() {
					all = append(all, m)
				}
				if len(all) == 0 {
					return omega.MachineState{}, false
				}
				return all[rapid.IntRange(0, len(all)-1).Draw(rt, "machine")], true
			}
			for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
				for range rapid.IntRange(0, 8).Draw(rt, "operations") {
					switch op := rapid.IntRange(0, 7).Draw(rt, "operation"); op {
					case 0:
						added++
						_, err := cell.Add(omega.Machine{Name: fmt.Sprintf("new%d", added), Capacity: resources.Vector{rapid.Int64Range(0, 3).Draw(rt, "cpu"), 100}})
						require.NoError(t, err)
					case 1:
						if m, ok := pick(); ok {
							require.NoError(t, cell.Drain(m.ID))
						}
					case 2:
						if m, ok := pick(); ok {
							require.NoError(t, cell.Resume(m.ID))
						}
					case 3:
						if m, ok := pick(); ok {
							_, err := cell.Remove(m.ID)
							require.NoError(t, err)
						}
					case 4:
						if len(seats) < 4 {
							colour := rapid.IntRange(0, 2).Draw(rt, "colour")
							screen, stop := watch(h, "?by="+[]string{"dominant", "cpu", "memory"}[colour])
							seats = append(seats, seat{screen, colour, stop})
						}
					case 5:
						if len(live) > 0 {
							_ = s.Release(live[len(live)-1]) // it may have gone with its machine
							live = live[:len(live)-1]
						}
					default:
						m, ok := pick()
						if !ok || m.Condition != omega.Ready {
							continue
						}
						var tx omega.Txn
						need := resources.Vector{rapid.Int64Range(0, 8000).Draw(rt, "cpu"), rapid.Int64Range(1, 64<<30).Draw(rt, "memory")}
						tx.Claim(omega.Claim{Machine: m.ID, Need: need})
						_, err := s.Commit(&tx)
						require.NoError(t, err)
						if id, ok := tx.Allocation(0); ok {
							live = append(live, id)
						}
					}
				}
				pass(time.Duration(rapid.IntRange(500, 2000).Draw(rt, "milliseconds")) * time.Millisecond)
				for _, seat := range seats {
					seat.screen.read(t)
					require.Equal(t, string(expected(cell, len(seat.screen.states), seat.colour)), string(seat.screen.states))
				}
			}
			for _, seat := range seats {
				seat.stop()
			}
		})
	})
}

// expected returns the states of machines by the rule in the package comment.
func expected(cell *omega.Cell, n, colour int) []byte {
	states := bytes.Repeat([]byte{'{'}, n)
	for m := range cell.Machines() {
		at := m.ID.Node()
		if m.Condition == omega.Draining {
			states[at] = 'z'
			continue
		}
		one := func(k int) byte {
			if m.Capacity[k] == 0 {
				return '|'
			}
			used := m.Capacity[k] - m.Free[k] - m.Reserved[k]
			switch used {
			case 0:
				return '!'
			case m.Capacity[k]:
				return 'q'
			}
			return '!' + byte(min(max((2*80*used+m.Capacity[k])/(2*m.Capacity[k]), 1), 79))
		}
		if states[at] = one(max(colour-1, 0)); colour == 0 {
			if memory := one(1); states[at] == '|' || memory != '|' && memory > states[at] {
				states[at] = memory
			}
		}
	}
	return states
}

// A diff leads from one frame to the next, and is left out where a frame is shorter.
func TestAppendDiff_LeadsToTheNextFrame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 200, 5000}).Draw(rt, "machines")
		before := make([]byte, n)
		for i := range before {
			before[i] = '!'
		}
		now := bytes.Clone(before)
		if n > 0 {
			for range rapid.IntRange(0, 40).Draw(rt, "changes") {
				now[rapid.IntRange(0, n-1).Draw(rt, "machine")] = rapid.ByteRange('!', '|').Draw(rt, "state")
			}
		}
		most := rapid.IntRange(1, n+1).Draw(rt, "most")
		diff, ok := view.AppendDiff([]byte("head"), before, now, most)
		if !ok {
			require.Equal(t, "head", string(diff))
			whole, _ := view.AppendDiff(nil, before, now, 1<<20)
			require.GreaterOrEqual(t, len(whole), most)
			return
		}
		require.Less(t, len(diff)-4, most)
		require.Equal(t, string(now), string(patch(t, before, string(diff[4:]))))
	})
}

func TestDue_IsByWeightAmongThoseThatAsk(t *testing.T) {
	total := resources.Vector{100}
	one := func(name string, weight float64, held int64, waiting int) pool.TenantStats {
		return pool.TenantStats{Name: name, Weight: weight, Held: resources.Vector{held}, Share: float64(held) / 100 / weight, Leases: int(held), Waiting: waiting}
	}
	guaranteed := func(t pool.TenantStats, amount int64) pool.TenantStats {
		t.Guaranteed = resources.Vector{amount}
		return t
	}
	tests := map[string]struct {
		tenants []pool.TenantStats
		want    []float64
	}{
		"none":                         {},
		"idle":                         {[]pool.TenantStats{one("a", 1, 0, 0)}, []float64{0}},
		"alone":                        {[]pool.TenantStats{one("a", 1, 60, 3)}, []float64{0.6}},
		"by weight":                    {[]pool.TenantStats{one("a", 3, 20, 1), one("b", 1, 60, 1)}, []float64{0.6, 0.2}},
		"no more than is asked for":    {[]pool.TenantStats{one("a", 3, 10, 0), one("b", 1, 80, 1), one("c", 1, 10, 1)}, []float64{0.1, 0.45, 0.45}},
		"all have what they ask for":   {[]pool.TenantStats{one("a", 1, 10, 0), one("b", 5, 80, 0)}, []float64{0.1, 0.8}},
		"a guarantee first":            {[]pool.TenantStats{guaranteed(one("a", 1, 0, 1), 50), one("b", 1, 40, 1), one("c", 1, 40, 1)}, []float64{0.5, 0.15, 0.15}},
		"a guarantee that is not used": {[]pool.TenantStats{guaranteed(one("a", 1, 0, 0), 50), one("b", 1, 80, 1)}, []float64{0, 0.8}},
		"a group shares what is due to it": {
			[]pool.TenantStats{one("g", 1, 60, 1), one("g/x", 3, 0, 1), one("g/y", 1, 60, 0), one("h", 1, 20, 1)},
			[]float64{0.4, 0.3, 0.1, 0.4},
		},
		"a name with a slash is no group": {[]pool.TenantStats{one("g", 1, 30, 1), one("g/x", 1, 10, 1)}, []float64{0.2, 0.2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.InDeltaSlice(t, tt.want, append([]float64{}, view.Due(tt.tenants, total)...), 1e-9)
		})
	}
}
