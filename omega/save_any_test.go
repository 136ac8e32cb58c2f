package omega_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Cells with any history come back as they were, and go on alike.
func TestRestore_ReturnsAnyCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newWanderer(t)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			h.step(t)
		}
		file := save(t, h.cell)
		restored, err := omega.Restore(bytes.NewReader(file), nil)
		require.NoError(t, err)
		require.Equal(t, file, save(t, restored), "the bytes depend on the state alone")
		h.schedulers = requireAlike(t, h.cell, restored, h.schedulers)
		h.cell = restored
		for range 20 {
			h.step(t)
		}
		require.NoError(t, restored.Check())
	})
}

// wanderer makes a cell in random steps.
type wanderer struct {
	cell       *omega.Cell
	schedulers []*omega.Scheduler
	ids        []omega.AllocationID // some of them released
	now        time.Time
	names      int
}

func newWanderer(t *rapid.T) *wanderer {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	h := &wanderer{cell: cell, now: time.Unix(1e9, 0).UTC()}
	for i := range 3 {
		s, err := cell.Register(fmt.Sprint(i), omega.Limits{Lowest: -3, Highest: 3})
		require.NoError(t, err)
		h.schedulers = append(h.schedulers, s)
	}
	return h
}

func (h *wanderer) step(t *rapid.T) {
	draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
	machines := slices.Collect(h.cell.Machines())
	step := draw(12, "step")
	if len(machines) == 0 || step == 0 && len(machines) < 6 {
		h.names++
		_, err := h.cell.Add(omega.Machine{Name: fmt.Sprint(h.names), Capacity: resources.Vector{12, 0, 12}})
		require.NoError(t, err)
		return
	}
	m, s := machines[draw(len(machines), "machine")], h.schedulers[draw(3, "scheduler")]
	h.now = h.now.Add(time.Duration(draw(3, "seconds")) * time.Second)
	switch step {
	case 1:
		_, err := h.cell.Remove(m.ID)
		require.NoError(t, err)
	case 2:
		require.NoError(t, h.cell.Drain(m.ID))
	case 3:
		require.NoError(t, h.cell.Resume(m.ID))
	case 4, 5, 6:
		for range draw(4, "releases") {
			if len(h.ids) > 0 {
				_ = s.Release(h.ids[draw(len(h.ids), "allocation")]) // or it is not the owner
			}
		}
	default:
		tx := omega.Txn{Gang: draw(2, "gang") == 0, Now: h.now, Grace: 2 * time.Second}
		for range 1 + draw(4, "claims") {
			c := claim(m.ID, 1+int64(draw(4, "need")), 0, int64(draw(3, "need too")))
			c.Precedence = omega.Precedence(draw(7, "precedence") - 3)
			c.Account = accountOf(h.cell, []string{"", "x", "y"}[draw(3, "account")])
			if draw(4, "grantee") == 0 {
				c.Grantee = h.schedulers[draw(3, "who")]
			}
			tx.Claim(c)
		}
		if step == 11 {
			tx.Reset()
			c := claim(m.ID, 9)
			c.Precedence = 3
			c.Victims, _ = h.cell.Victims(m.ID, c.Need, c.Precedence)
			tx.Claim(c)
		}
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		for i := range tx.Len() {
			if a, ok := tx.Allocation(i); ok {
				h.ids = append(h.ids, a)
			}
		}
	}
}
