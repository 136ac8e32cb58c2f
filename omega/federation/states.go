package federation

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// states are the machines as the verifier has last seen them, and the set of changed
// machines that the global master has not been told of.
type states struct {
	of       *Verifier
	machines []report
	changed  []int32 // since the last message, each once
	isNew    []bool  // by machine: it is in changed
	blocks   []*block
	old      []bool // by block: a machine of it has changed
}

// fill sees all machines, for the first heartbeat.
func (s *states) fill(v *Verifier) {
	s.of = v
	for m := range v.cell.Machines() {
		s.see(m)
	}
	s.told()
}

// see notes the state of a machine.
func (s *states) see(m omega.MachineState) {
	s.note(report{
		ID: m.ID, Seq: m.Seq, Ready: m.Condition == omega.Ready, Internal: s.of.part == nil || s.of.part.Has(m.ID.Node()),
		Free: m.Free, Capacity: m.Capacity, Attributes: m.Attributes,
	})
}

func (s *states) note(r report) {
	n := int(r.ID.Node())
	for len(s.machines) <= n {
		s.machines, s.isNew = append(s.machines, report{}), append(s.isNew, false)
	}
	for len(s.blocks)*blockSize <= n {
		s.blocks, s.old = append(s.blocks, nil), append(s.old, true)
	}
	if old := &s.machines[n]; r.Seq > old.Seq {
		if r.Described = old.Described; r.ID != old.ID || !same(r.Attributes, old.Attributes) {
			r.Described++
		}
		*old = r
		s.old[n/blockSize] = true
	}
	if !s.isNew[n] {
		s.isNew[n] = true
		s.changed = append(s.changed, int32(n))
	}
}

// touch looks at a machine that the verifier has committed to. A machine that is gone is
// seen at the next refresh.
func (s *states) touch(id omega.MachineID) {
	if m, ok := s.of.cell.State(id); ok {
		s.see(m)
	}
}

func (s *states) touchNode(n int) {
	if n < len(s.machines) {
		s.touch(s.machines[n].ID)
	}
}

// told notes that the global master was sent all that has changed.
func (s *states) told() {
	for _, n := range s.changed {
		s.isNew[n] = false
	}
	s.changed = s.changed[:0]
}

// heartbeat returns the blocks of all machines, and makes the changed ones anew.
func (s *states) heartbeat() []*block {
	for i := range s.blocks {
		if !s.old[i] {
			continue
		}
		s.old[i] = false
		b := &block{First: i * blockSize}
		b.Machines = append(b.Machines, s.machines[b.First:min(b.First+blockSize, len(s.machines))]...)
		for k := range b.Machines {
			b.Stamp += b.Machines[k].Seq
		}
		s.blocks[i] = b
	}
	return append([]*block(nil), s.blocks...)
}

// watched is the store of a verifier. It observes the changes that each refresh
// finds.
type watched struct{ v *Verifier }

func (w watched) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	return w.v.local.Store.Commit(ctx, tx)
}

func (w watched) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	return w.v.local.Store.Refresh(ctx, now, func(m omega.MachineState) {
		w.v.states.see(m)
		if visit != nil {
			visit(m)
		}
	})
}

// messages returns the messages to the global master. A full report has the states of
// all machines, in pieces, and all notices that were not acknowledged.
func (v *Verifier) messages(full bool) (out []Message) {
	list := v.listing && v.attempt.Doubt() == 0 // tasks of a commit in doubt may run
	full = full || list
	t := &tell{Epoch: v.epoch, Incarnation: v.incarnation(), Answers: v.verdicts}
	v.verdicts = nil
	if list {
		v.listing, t.Listed, t.List, t.Noticed = false, true, v.Records().Tasks, v.noticed
	}
	untold := v.notices[len(v.notices)-v.untold:]
	if full {
		untold = v.notices
	}
	t.Notices = append(t.Notices, untold...)
	v.untold = 0
	first := len(t.Answers) > 0 || len(t.Notices) > 0 || list
	add := func(next *tell) {
		out = append(out, Message{From: v.local.Name, To: v.global, tell: next})
	}
	if !full {
		for from := 0; from < len(v.states.changed); from += v.local.Piece {
			for _, n := range v.states.changed[from:min(from+v.local.Piece, len(v.states.changed))] {
				t.Machines = append(t.Machines, v.states.machines[n])
			}
			add(t)
			t, first = &tell{Epoch: v.epoch, Incarnation: v.incarnation()}, false
		}
		if first {
			add(t)
		}
		v.states.told()
		return out
	}
	all, size := v.states.heartbeat(), v.local.Piece/blockSize
	for len(all) > size {
		t.Blocks, all = all[:size:size], all[size:]
		add(t)
		t = &tell{Epoch: v.epoch, Incarnation: v.incarnation()}
	}
	t.Blocks, t.Full, t.Usage = all, true, v.usage()
	add(t)
	v.states.told()
	return out
}
