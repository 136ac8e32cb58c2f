package offers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// twin is a master with frameworks that can use only some machines, and what is to be
// done with them.
type twin struct {
	cell     *omega.Cell
	m        *offers.Master
	machines []omega.MachineID
	all      []*offers.Framework
	offered  [][]offers.Offer
	tasks    [][]omega.AllocationID
}

const twinMachines = 8

// newTwin returns a master of machines that are alike, and of idle ones that have
// nothing.
func newTwin(t *testing.T, cfg offers.Config, idle int) *twin {
	t.Helper()
	w := &twin{}
	w.cell, w.machines = newCell(t, twinMachines, resources.Vector{8})
	for i := range idle {
		_, err := w.cell.Add(omega.Machine{Name: fmt.Sprintf("idle-%d", i)})
		require.NoError(t, err)
	}
	w.m = newMaster(t, w.cell, cfg)
	return w
}

// answer lets a framework accept or decline one of the offers that it was told.
func (w *twin) answer(now time.Time, f, o int, accepts bool, refuse offers.Span) {
	if len(w.offered[f]) == 0 {
		return
	}
	id := w.offered[f][o%len(w.offered[f])]
	if !accepts {
		_ = w.all[f].Decline(now, refuse, id.ID) // it may have expired, in both
		return
	}
	need := id.Room[0] - int64(o)%id.Room[0]
	l := launch(id.ID, need)
	l.Filter, l.Refuse = o%2 == 0, refuse
	tasks, _ := w.all[f].Accept(now, l) // the same
	w.tasks[f] = append(w.tasks[f], tasks...)
}

// A framework that waits at the few machines that it can use is offered the same, in the
// same turn, as if it stood in line with all others. It stands in line where it can use
// so many more machines, with nothing to offer, that they are not few.
func TestOrder_SelectiveFrameworksHaveTheirTurn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := offers.Config{}
		if rapid.Bool().Draw(rt, "priority") {
			cfg.Order, cfg.Roles = offers.Priority{}, offers.Priority{}
		}
		twins := []*twin{newTwin(t, cfg, 0), newTwin(t, cfg, 56)}
		frameworks := rapid.IntRange(2, 8).Draw(rt, "frameworks")
		now := start
		enter := func(f int, epoch uint64) {
			r := offers.Registration{
				Name: fmt.Sprint(f), Role: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "role"), Epoch: epoch,
				Weight:      float64(rapid.IntRange(1, 3).Draw(rt, "weight")),
				Precedence:  omega.Precedence(rapid.IntRange(0, 2).Draw(rt, "precedence")),
				Outstanding: rapid.SampledFrom([]float64{0.2, 1}).Draw(rt, "outstanding"),
			}
			shared := rapid.Bool().Draw(rt, "shared")
			mask := rapid.OneOf(rapid.Uint64Range(1, 255), rapid.SampledFrom([]uint64{1, 2, 3, 255, 255})).Draw(rt, "mask")
			for i, w := range twins {
				r.Machines = omega.Mask{mask}
				if i == 1 {
					r.Machines[0] |= ^uint64(255)
				}
				if shared {
					r.Account = accountOf(w.cell, "shared")
				}
				h, err := w.m.Register(now, r)
				require.NoError(rt, err)
				if f == len(w.all) {
					w.all, w.offered, w.tasks = append(w.all, h), append(w.offered, nil), append(w.tasks, nil)
				}
				w.all[f] = h
			}
		}
		for f := range frameworks {
			enter(f, 0)
		}
		for step := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "later")) * time.Second)
			f := rapid.IntRange(0, frameworks-1).Draw(rt, "framework")
			which := rapid.IntRange(0, 100).Draw(rt, "which")
			refuse := offers.For(time.Duration(rapid.IntRange(0, 4).Draw(rt, "refuse")) * time.Second)
			action := rapid.SampledFrom([]string{
				"accept", "accept", "decline", "decline all", "decline all", "release", "step", "suppress", "revive", "replace", "register", "leave",
			}).Draw(rt, "action")
			if action == "register" {
				enter(f, uint64(step+1))
			}
			for _, w := range twins {
				switch action {
				case "accept", "decline":
					w.answer(now, f, which, action == "accept", refuse)
				case "decline all":
					_ = w.all[f].Decline(now, refuse, ids(w.offered[f])...) // those that there are
					w.offered[f] = nil
				case "release":
					if tasks := w.tasks[f]; len(tasks) > 0 {
						_ = w.all[f].Release(now, tasks[0]) // or it was lost, in both
						w.tasks[f] = tasks[1:]
					}
				case "suppress":
					require.NoError(rt, w.all[f].Suppress(now))
				case "revive":
					require.NoError(rt, w.all[f].Revive(now))
				case "replace":
					k := which % twinMachines
					_, err := w.cell.Remove(w.machines[k])
					require.NoError(rt, err)
					w.machines[k], err = w.cell.Add(omega.Machine{Name: fmt.Sprint(step), Capacity: resources.Vector{int64(1 + which%9)}})
					require.NoError(rt, err)
				case "leave":
					require.NoError(rt, w.all[f].Disconnect(now))
					var err error
					w.all[f], err = w.m.Register(now, offers.Registration{Name: fmt.Sprint(f), Epoch: uint64(step + 1)})
					require.NoError(rt, err)
				}
				require.NoError(rt, w.m.Step(now))
				for f, h := range w.all {
					news, err := h.News(now)
					require.NoError(rt, err)
					w.offered[f] = append(w.offered[f], news.Offers...)
				}
			}
			for f := range frameworks {
				require.Equal(rt, numbered(twins[1].offered[f]), numbered(twins[0].offered[f]), "framework %d after step %d, %s", f, step, action)
			}
		}
	})
}

// numbered returns offers with the machine's number for its ID, as the IDs of two
// cells differ.
func numbered(all []offers.Offer) []offers.Offer {
	all = slices.Clone(all)
	for i := range all {
		all[i].Machine = omega.MachineID(all[i].Machine.Node())
	}
	return all
}
