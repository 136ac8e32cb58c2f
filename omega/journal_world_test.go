package omega_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// journalWorld draws operations on a cell with a journal.
type journalWorld struct {
	cell       *omega.Cell
	now        time.Time
	schedulers []*omega.Scheduler // replaced ones and ones that have left, too
	ids        []omega.AllocationID
	reserved   []omega.ReservationID
	machines   []omega.MachineID
	names      int
}

func (w *journalWorld) step(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
	switch which := rapid.IntRange(0, 39).Draw(t, "kind"); {
	case len(w.machines) == 0 || which == 0 && len(w.machines) < 8:
		w.names++
		m, err := w.cell.Add(omega.Machine{
			Name: fmt.Sprint("node-", w.names), Capacity: resources.Vector{40, 0, 1 << 34},
			Attributes: map[string]string{"rack": fmt.Sprint(w.names % 2)},
		})
		require.NoError(t, err)
		w.machines = append(w.machines, m)
	case len(w.schedulers) == 0 || which <= 3:
		w.succeed(t)
	case which <= 9:
		w.manage(t, which)
	case which <= 14 && len(w.ids) > 0:
		_ = w.scheduler(t).Release(w.allocation(t))
	default:
		w.commit(t)
	}
}

func (w *journalWorld) scheduler(t *rapid.T) *omega.Scheduler {
	return rapid.SampledFrom(w.schedulers).Draw(t, "scheduler")
}

func (w *journalWorld) allocation(t *rapid.T) omega.AllocationID {
	return rapid.SampledFrom(w.ids).Draw(t, "allocation")
}

func (w *journalWorld) machine(t *rapid.T) omega.MachineID {
	return rapid.SampledFrom(w.machines).Draw(t, "machine")
}

func (w *journalWorld) keep(s *omega.Scheduler, err error) {
	if err == nil {
		w.schedulers = append(w.schedulers, s)
	}
}

// nextVersion registers, replaces, takes or ends schedulers.
func (w *journalWorld) succeed(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
	limits := omega.Limits{Lowest: -2, Highest: 4, Divisible: rapid.Bool().Draw(t, "divisible")}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		limits.Held, limits.Jobs, limits.Gang = &resources.Vector{30, 0, 1 << 33}, 2, 3
	}
	switch kind := rapid.IntRange(0, 4).Draw(t, "succession"); {
	case kind == 0:
		w.keep(w.cell.Register(name, limits))
	case kind == 1:
		w.keep(w.cell.Replace(name))
	case kind == 2 && len(w.schedulers) > 0:
		w.keep(w.scheduler(t).Deputy(name, limits))
	case kind == 3 && len(w.schedulers) > 0:
		_ = w.scheduler(t).Leave()
	default:
		w.keep(w.cell.Take(t.Context(), name, limits))
	}
}

// manage changes machines, masks, jobs or accounts.
func (w *journalWorld) manage(t *rapid.T, which int) {
	m := w.machine(t)
	switch which {
	case 4:
		if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
			_, _ = w.cell.Remove(m)
		} else {
			_ = w.cell.Drain(m)
		}
	case 5, 6:
		_ = w.cell.Resume(m)
	case 7:
		_ = w.cell.SetCapacity(m, resources.Vector{rapid.Int64Range(-1, 60).Draw(t, "capacity"), 0, 1 << 34})
		_ = w.cell.SetAttributes(m, map[string]string{"rack": "9"})
	case 8:
		if len(w.schedulers) == 0 {
			return
		}
		s := w.scheduler(t)
		if rapid.Bool().Draw(t, "begin") {
			_ = s.BeginJob()
		} else {
			_ = s.EndJob()
		}
		_ = s.Restrict(t.Context(), rapid.SampledFrom([]omega.Mask{nil, {7}, {}, nil}).Draw(t, "mask"))
	default:
		_, _ = w.cell.Account(t.Context(), fmt.Sprint("tenant-", rapid.IntRange(0, 5).Draw(t, "tenant")))
	}
}

func (w *journalWorld) claim(t *rapid.T, s *omega.Scheduler) omega.Claim {
	c := omega.Claim{
		Machine: w.machine(t), Account: omega.Account(rapid.IntRange(0, 4).Draw(t, "account")),
		Need:       resources.Vector{rapid.Int64Range(1, 12).Draw(t, "need"), 0, rapid.Int64Range(0, 2).Draw(t, "memory") << 32},
		Precedence: omega.Precedence(rapid.IntRange(-2, 4).Draw(t, "precedence")),
	}
	switch rapid.IntRange(0, 9).Draw(t, "special") {
	case 0, 1:
		c.Victims, _ = w.cell.Victims(c.Machine, c.Need, c.Precedence)
	case 2:
		c.Grantee = w.scheduler(t)
	case 3:
		if len(w.reserved) > 0 {
			c.Reservation = rapid.SampledFrom(w.reserved).Draw(t, "reservation")
		}
	}
	if free, ok := s.Snapshot().Free(c.Machine); ok && rapid.Bool().Draw(t, "fit") {
		c.Need = c.Need.Min(free)
	}
	return c
}

func (w *journalWorld) commit(t *rapid.T) {
	s := w.scheduler(t)
	tx := omega.Txn{
		Gang: rapid.IntRange(0, 2).Draw(t, "gang") == 0, Now: w.now, Grace: 2 * time.Second,
		Detect: rapid.SampledFrom([]omega.Detection{omega.Fine, omega.Fine, omega.CoarseClaims, omega.Coarse}).Draw(t, "detect"),
	}
	if rapid.Bool().Draw(t, "refresh") {
		s.Snapshot().Refresh(w.now)
	}
	for range rapid.IntRange(1, 5).Draw(t, "items") {
		switch kind := rapid.IntRange(0, 9).Draw(t, "item"); {
		case kind == 0 && len(w.ids) > 0:
			tx.Release(w.allocation(t))
		case kind == 1 && len(w.ids) > 0:
			tx.Resize(w.allocation(t), resources.Vector{rapid.Int64Range(1, 9).Draw(t, "resized")})
		case kind == 2 && len(w.ids) > 0:
			a := w.allocation(t)
			at := slices.IndexFunc(w.machines, func(m omega.MachineID) bool { return m.Node() == a.Node() })
			into := w.claim(t, s)
			into.Victims, into.Machine = nil, w.machines[at]
			tx.Exchange([]omega.AllocationID{a}, into, into)
		case kind == 3 && rapid.Bool().Draw(t, "reserves"):
			c := w.claim(t, s)
			c.Victims, c.Grantee, c.Reservation = nil, nil, 0
			tx.Reserve(w.now.Add(9*time.Second), c)
			if len(w.reserved) > 0 {
				tx.Unreserve(rapid.SampledFrom(w.reserved).Draw(t, "unreserved"))
			}
		default:
			tx.Claim(w.claim(t, s))
		}
	}
	if _, err := s.Commit(&tx); err != nil {
		return
	}
	for i := range tx.Len() {
		if a, ok := tx.Allocation(i); ok {
			w.ids = append(w.ids, a)
		}
	}
	for i := range 5 {
		if id, err := tx.Reservation(i); err == nil {
			w.reserved = append(w.reserved, id)
		}
	}
}
