package view

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/cellsched/cellsched/omega"
)

// machineRow is a machine as it is shown.
type machineRow struct {
	Number      int               `json:"number"`
	Name        string            `json:"name"`
	Condition   string            `json:"condition"`
	Pool        string            `json:"pool,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Capacity    amounts           `json:"capacity"`
	Free        amounts           `json:"free"`
	Reserved    amounts           `json:"reserved"`
	Live        int               `json:"allocations"`
	Allocations []allocationRow   `json:"live,omitempty"`
}

// allocationRow is an allocation as it is shown.
type allocationRow struct {
	ID         string  `json:"id"`
	Account    string  `json:"account,omitempty"`
	Scheduler  string  `json:"scheduler"`
	Precedence int32   `json:"precedence"`
	Need       amounts `json:"need"`
	Share      float64 `json:"share"` // dominant share of the machine
}

// machine serves one machine with its allocations.
func (h *handler) machine(w http.ResponseWriter, r *http.Request) {
	n, ok := number(w, r, "n")
	if !ok {
		return
	}
	f := h.source.frame()
	cell := h.source.current()
	if cell == nil {
		if row, ok := h.source.machineOfPool(n); ok {
			serveJSON(w, r, row)
			return
		}
	} else if n < len(f.ids) {
		if m, ok := cell.State(f.ids[n]); ok {
			all := cell.AllocationsOn(m.ID)
			row := h.machineRow(cell, &m)
			row.Live = len(all)
			for i := range all[:min(len(all), maxListed)] {
				row.Allocations = append(row.Allocations, h.allocationRow(cell, &m, &all[i]))
			}
			slices.SortStableFunc(row.Allocations, func(a, b allocationRow) int { return -cmp.Compare(a.Share, b.Share) })
			serveJSON(w, r, row)
			return
		}
	}
	refuse(w, http.StatusNotFound, "machine %d: no machine has that number", n)
}

// machines serves the machines from a number on.
func (h *handler) machines(w http.ResponseWriter, r *http.Request) {
	from, ok := number(w, r, "from")
	if !ok {
		return
	}
	f := h.source.frame()
	cell := h.source.current()
	answer := struct {
		Machines []machineRow `json:"machines"`
		Next     int          `json:"next,omitempty"` // from where to go on
	}{Machines: []machineRow{}}
	for n := from; n < len(f.states[0]); n++ {
		if len(answer.Machines) == maxListed {
			answer.Next = n
			break
		}
		if cell == nil {
			if row, ok := h.source.machineOfPool(n); ok {
				answer.Machines = append(answer.Machines, row)
			}
		} else if n < len(f.ids) {
			if m, ok := cell.State(f.ids[n]); ok {
				answer.Machines = append(answer.Machines, h.machineRow(cell, &m))
			}
		}
	}
	serveJSON(w, r, answer)
}

// number returns a number of the query, 0 where it is left out.
func number(w http.ResponseWriter, r *http.Request, key string) (int, bool) {
	text := cmp.Or(r.URL.Query().Get(key), "0")
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		refuse(w, http.StatusBadRequest, "%s %.20q, want a number from 0 on", key, text)
		return 0, false
	}
	return int(n), true
}

func (h *handler) machineRow(cell *omega.Cell, m *omega.MachineState) machineRow {
	row := machineRow{
		Number: int(m.ID.Node()), Name: h.source.show("machine", m.Name), Condition: m.Condition.String(),
		Capacity: named(cell.Space(), &m.Capacity), Free: named(cell.Space(), &m.Free), Reserved: named(cell.Space(), &m.Reserved),
		Live: m.Live,
	}
	if len(m.Attributes) > 0 {
		row.Attributes = make(map[string]string, len(m.Attributes))
		for _, key := range slices.Sorted(maps.Keys(m.Attributes)) {
			row.Attributes[h.source.show("attribute", key)] = h.source.show("attribute", m.Attributes[key])
		}
	}
	return row
}

func (h *handler) allocationRow(cell *omega.Cell, m *omega.MachineState, a *omega.Allocation) allocationRow {
	row := allocationRow{
		ID: a.ID.String(), Scheduler: h.source.show("scheduler", a.Scheduler),
		Precedence: int32(a.Precedence), Need: named(cell.Space(), &a.Need),
	}
	if a.Account != 0 {
		name, _ := cell.AccountName(a.Account)
		row.Account = h.source.show("account", name)
	}
	row.Share, _, _ = a.Need.DominantShare(m.Capacity)
	return row
}

// show is the function show, for callers without mu.
func (s *source) show(kind, text string) string {
	if s.cfg.Filter != nil { // it is called from one goroutine at a time
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return show(s.cfg.Filter, kind, text)
}

// machineOfPool returns machine n of the pools that are shown without a cell.
func (s *source) machineOfPool(n int) (machineRow, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := n
	for i := range s.pools {
		p := &s.pools[i]
		if at >= len(p.stats.Machines) {
			at -= len(p.stats.Machines)
			continue
		}
		m, space := &p.stats.Machines[at], p.pool.Space()
		condition := omega.Ready
		if m.Draining {
			condition = omega.Draining
		}
		return machineRow{
			Number: n, Name: show(s.cfg.Filter, "machine", m.Name), Condition: condition.String(), Pool: show(s.cfg.Filter, "pool", p.name),
			Capacity: named(space, &m.Capacity), Free: named(space, &m.Free), Reserved: named(space, &m.Reserved), Live: m.Leases,
		}, true
	}
	return machineRow{}, false
}
