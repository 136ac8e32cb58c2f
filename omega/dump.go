package omega

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Dump writes the whole cell at one moment as indented JSON, for people and tools:
// machines with their allocations by slot, schedulers with limits and marks, accounts,
// reservations in their order. Amounts are in the names and units of the cell's space.
// Cells that are alike have equal dumps.
//
// It is no format to restore from ([Cell.Save] writes that), and later versions may add
// to it. Cost: some twenty times that of Save. Errors: those of w.
func (c *Cell) Dump(w io.Writer) error {
	switch {
	case c.none():
		return absent("cell")
	case w == nil:
		return absent("writer")
	}
	k := c.Cut()
	d := &dumper{
		w: w, cell: c, cut: k,
		held: make(map[*owner]resources.Vector, len(k.schedulers)),
		used: make([]resources.Vector, len(k.ledgers)),
	}
	d.list("{\n", "machines", func() {
		for i := range k.machines {
			if m := &k.machines[i]; m.val.cond != Removed {
				d.item(d.machine(m))
			}
		}
	})
	marks := make(map[*owner][]pendingMark)
	for _, m := range k.marks {
		o := m.rec.tally.owner
		marks[o] = append(marks[o], m)
	}
	d.list(",\n", "schedulers", func() {
		for _, p := range k.schedulers {
			d.item(d.scheduler(p, marks[p.owner]))
		}
	})
	d.list(",\n", "accounts", func() {
		for i, l := range k.ledgers {
			if i > 0 || d.used[i] != (resources.Vector{}) {
				d.item(dumpedAccount{l.name, d.format(d.used[i])})
			}
		}
	})
	if line := k.reserved(); len(line) > 0 {
		d.list(",\n", "reservations", func() {
			for _, r := range line {
				d.item(d.reservation(r))
			}
		})
	}
	d.write([]byte("\n}\n"))
	return d.err
}

// dumper writes a dump, one item of a list at a time.
type dumper struct {
	w    io.Writer
	cell *Cell
	cut  *Cut
	held map[*owner]resources.Vector // once the machines are written
	used []resources.Vector          // by account, likewise
	sep  string                      // before the next item
	text bytes.Buffer                // scratch
	err  error
}

type dumpedMachine struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Condition   string             `json:"condition"`
	Capacity    string             `json:"capacity"`
	Free        string             `json:"free"`
	Attributes  map[string]string  `json:"attributes,omitempty"`
	Seq         uint64             `json:"seq"`
	Allocations []dumpedAllocation `json:"allocations,omitempty"`
}

type dumpedAllocation struct {
	ID         string        `json:"id"`
	Scheduler  string        `json:"scheduler"`
	Account    string        `json:"account,omitempty"`
	Precedence Precedence    `json:"precedence"`
	Need       string        `json:"need"`
	Grantee    string        `json:"grantee,omitempty"`
	After      []dumpedLeave `json:"after,omitempty"` // victims that it waits for
}

// dumpedLeave is a preempted allocation that another one waits for.
type dumpedLeave struct {
	ID    string `json:"id"`
	Until string `json:"until"`
}

type dumpedScheduler struct {
	Name   string       `json:"name"`
	Epoch  uint64       `json:"epoch"`
	Jobs   int64        `json:"jobs"`
	Holds  string       `json:"holds"`
	Limits dumpedLimits `json:"limits"`
	Marked []dumpedMark `json:"marked,omitempty"`
}

type dumpedLimits struct {
	Held      string     `json:"held,omitempty"`
	Divisible bool       `json:"divisible,omitempty"`
	Jobs      int        `json:"jobs,omitempty"`
	Gang      int        `json:"gang,omitempty"`
	Lowest    Precedence `json:"lowest"`
	Highest   Precedence `json:"highest"`
	Machines  *string    `json:"machines,omitempty"` // ranges of node numbers
}

type dumpedMark struct {
	Machine    string           `json:"machine"`
	Allocation dumpedAllocation `json:"allocation"`
	Fate       string           `json:"fate"`
	By         string           `json:"by,omitempty"`
	Until      string           `json:"until,omitempty"`
}

type dumpedAccount struct {
	Name string `json:"name"`
	Used string `json:"used"`
}

type dumpedReservation struct {
	ID         ReservationID `json:"id"`
	Scheduler  string        `json:"scheduler"`
	Account    string        `json:"account,omitempty"`
	Precedence Precedence    `json:"precedence"`
	Until      string        `json:"until"`
	Waits      bool          `json:"waits,omitempty"` // in line, and keeps no room
	Machines   []dumpedPart  `json:"machines"`
}

type dumpedPart struct {
	Machine string `json:"machine"`
	Need    string `json:"need"`
	Left    string `json:"left,omitempty"`
}

func (d *dumper) reservation(r lined) dumpedReservation {
	account, _ := d.cell.AccountName(r.account)
	out := dumpedReservation{
		ID: r.id, Scheduler: r.owner.name, Account: account, Precedence: r.precedence, Until: date(r.until), Waits: !r.active,
	}
	for i := range r.parts {
		p := &r.parts[i]
		one := dumpedPart{Machine: p.machine.String(), Need: d.format(p.need)}
		if r.active {
			one.Left = d.format(d.cut.remains(r.reservation, p))
		}
		out.Machines = append(out.Machines, one)
	}
	return out
}

func (d *dumper) machine(m *past) dumpedMachine {
	v := m.val
	out := dumpedMachine{
		ID: v.spec.id.String(), Name: v.spec.Name, Condition: v.cond.String(), Seq: v.seq,
		Capacity: d.format(v.spec.Capacity), Free: d.format(v.free()), Attributes: v.spec.Attributes,
	}
	for h, rec := range m.held.records() {
		t := rec.tally
		d.held[t.owner] = d.held[t.owner].Add(rec.need)
		d.used[t.account] = d.used[t.account].Add(rec.need)
		id := allocationID(uint32(v.spec.id.Node()), h.slot, d.cell.tag, h.seq)
		out.Allocations = append(out.Allocations, d.allocation(id, rec))
	}
	return out
}

func (d *dumper) allocation(id AllocationID, rec *record) dumpedAllocation {
	t := rec.tally
	account, _ := d.cell.AccountName(t.account)
	out := dumpedAllocation{
		ID: id.String(), Scheduler: t.owner.name, Account: account,
		Precedence: t.precedence, Need: d.format(rec.need),
	}
	if place := d.cut.place(rec.grantee); place > 0 {
		out.Grantee = d.cut.schedulers[place-1].owner.name
	}
	if rec.ext == nil {
		return out
	}
	if after := d.cut.remaining(rec.ext.after); after != nil {
		for _, l := range *after {
			out.After = append(out.After, dumpedLeave{l.id.String(), date(l.until)})
		}
	}
	return out
}

func (d *dumper) scheduler(p permit, marks []pendingMark) dumpedScheduler {
	o, l := p.owner, &p.owner.limits
	out := dumpedScheduler{
		Name: o.name, Epoch: p.epoch, Jobs: p.jobs, Holds: d.format(d.held[o]),
		Limits: dumpedLimits{Jobs: l.Jobs, Gang: l.Gang, Lowest: l.Lowest, Highest: l.Highest},
	}
	out.Limits.Divisible = l.Divisible
	if l.Held != nil {
		out.Limits.Held = d.format(*l.Held)
	}
	if p.mask != nil {
		machines := p.mask.ranges()
		out.Limits.Machines = &machines
	}
	for i := range marks {
		m := &marks[i]
		mark := dumpedMark{Machine: m.machine.String(), Allocation: d.allocation(m.id, m.rec), Fate: m.fate().String()}
		if m.by != nil {
			mark.By, mark.Until = m.by.name, date(m.until)
		}
		out.Marked = append(out.Marked, mark)
	}
	return out
}

func (d *dumper) format(v resources.Vector) string { return d.cell.space.Format(v) }

func date(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// text returns the node numbers in the mask, or the first of many.
func (m Mask) text() string {
	text := m.ranges()
	switch {
	case text == "":
		return "none"
	case len(text) > maxRanges:
		return text[:strings.LastIndexByte(text[:maxRanges], ',')+1] + "..."
	}
	return text
}

// maxRanges is how many bytes of a mask an error shows.
const maxRanges = 64

// ranges returns the node numbers in the mask, as in "0-3,7".
func (m Mask) ranges() string {
	var text []byte
	for n, end := 0, len(m)*64; n < end; n++ {
		if m[n/64]>>(n%64)&1 == 0 {
			continue
		}
		first := n
		for n+1 < end && m[(n+1)/64]>>((n+1)%64)&1 == 1 {
			n++
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(first), 10)
		if n > first {
			text = strconv.AppendInt(append(text, '-'), int64(n), 10)
		}
	}
	return string(text)
}

// list writes a list of the items that walk passes to item.
func (d *dumper) list(before, name string, walk func()) {
	d.write([]byte(before + `  "` + name + `": [`))
	d.sep = "\n    "
	walk()
	if d.sep[0] == ',' {
		d.write([]byte("\n  "))
	}
	d.write([]byte("]"))
}

func (d *dumper) item(item any) {
	if d.err != nil {
		return
	}
	d.text.Reset()
	e := json.NewEncoder(&d.text)
	e.SetIndent("    ", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(item); err != nil {
		d.err = fmt.Errorf("omega: dumping a cell: %w", err)
		return
	}
	d.write([]byte(d.sep))
	d.write(bytes.TrimSuffix(d.text.Bytes(), []byte("\n")))
	d.sep = ",\n    "
}

func (d *dumper) write(text []byte) {
	if d.err != nil {
		return
	}
	n, err := d.w.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		d.err = fmt.Errorf("omega: dumping a cell: %w", err)
	}
}
