package journal

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Board is a table that the processes of a journal share: by key, the amount that each process
// uses, and the least need for which it waits. At the same position all copies are the same.
// The notes of a process end with its session. Make one with [Cell.Board]. It is safe for
// concurrent use.
//
//	key      notes of session 7   of session 12        tally in session 7
//	tenant   uses 3               uses 5, waits for 1  own 3, others 5, waits, need 1
//
// A Board can keep the sum of a key within a bound: see [Note].
type Board struct {
	cell *Cell
	name string
}

// Note is a row of a [Board]: the use and the wait of a process under a key. It replaces the
// process's last note there. A note without an amount and a need ends.
type Note struct {
	Key    string
	Amount resources.Vector // that the process uses
	Need   resources.Vector // the least that it waits for; nothing: it does not wait
	// Most bounds the sum of the amounts of all processes, where Bounded is set. If Amount
	// is larger than the last one in some kind, and the sum would exceed Most there, then in
	// each kind the lesser of the two is kept. The other parts of the note hold.
	Most    resources.Vector
	Bounded bool
}

// Tally is the sum of the notes that a [Board] has under a key.
type Tally struct {
	Key    string
	Own    resources.Vector // the amount of this process
	Others resources.Vector // the sum of the other processes' amounts
	Need   resources.Vector // the least need of other processes that wait, by kind
	Least  resources.Vector // the least amount of other processes that wait, by kind
	Waits  bool             // another process waits
}

// maxKey is the longest key of a note.
const maxKey = 4096

// notesAtATime is how many notes go into one entry.
const notesAtATime = 512

// Board returns the board of a name. It waits until all processes of the journal know boards:
// see [Config]. Errors: the cause of ctx, as for [Cell.Err], and [resources.ErrQuantity] if the
// Config has no TTL.
func (c *Cell) Board(ctx context.Context, name string) (*Board, error) {
	if !c.tends() {
		return nil, fault.Newf("journal", resources.ErrQuantity, "board %s, whose notes end with sessions: TTL of 0, want more", fault.Quote(name))
	}
	if err := resources.CheckName(name); err != nil {
		return nil, fault.New("journal", "board", err)
	}
	if err := c.reaches(ctx, boarded); err != nil {
		return nil, err
	}
	return &Board{c, name}, nil
}

// Post writes notes, and returns once the journal has them. Other processes see up to 512 notes
// of a call at once. Cost: an append for each 512 notes. Errors: as for [Cell.Err]; the cause of ctx, after which the notes may be
// written later; [resources.ErrQuantity] and [resources.ErrName] before any is written.
func (b *Board) Post(ctx context.Context, notes ...Note) error {
	for i := range notes {
		n := &notes[i]
		if n.Key == "" || len(n.Key) > maxKey {
			return fault.Newf("journal", resources.ErrName, "note with a key of %d bytes, want 1 to %d", len(n.Key), maxKey)
		}
		for _, v := range [...]*resources.Vector{&n.Amount, &n.Need, &n.Most} {
			if err := v.Check(); err != nil {
				return fault.Newf("journal", err, "note %s", fault.Quote(n.Key))
			}
		}
	}
	for some := range slices.Chunk(notes, notesAtATime) {
		if err := b.cell.tell(ctx, keeping{action: postNotes, notes: encodeNotes(b.name, some)}); err != nil {
			return err
		}
	}
	return nil
}

// Next waits until the board has changed since a version, 0 for none, and returns all tallies
// in the order of their keys, with the present version. Keys without notes are left out.
// Versions count in this process alone. Cost: O(notes). Errors: as for [Cell.Err], and the
// cause of ctx.
func (b *Board) Next(ctx context.Context, after uint64) (all []Tally, version uint64, err error) {
	c := b.cell
	for {
		c.mu.Lock()
		t := c.state.table(b.name)
		if t.version > after {
			all, version = t.tallies(c.session), t.version
			c.mu.Unlock()
			return all, version, nil
		}
		changed := t.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.life.Done():
			return nil, after, cmp.Or(c.Err(), context.Cause(c.life))
		case <-ctx.Done():
			return nil, after, context.Cause(ctx)
		}
	}
}

// table is the state of a board. All but its version is the same in all copies.
type table struct {
	notes   map[string]map[Position]Note // by key and session, without bounds
	version uint64
	changed chan struct{} // closed at the next change
}

// table returns the table of a name. Called with the mutex of the Cell held.
func (s *state) table(name string) *table {
	t := s.boards[name]
	if t == nil {
		t = &table{notes: make(map[string]map[Position]Note), changed: make(chan struct{})}
		if s.boards == nil {
			s.boards = make(map[string]*table)
		}
		s.boards[name] = t
	}
	return t
}

// change tells those that wait for one.
func (t *table) change() {
	t.version++
	close(t.changed)
	t.changed = make(chan struct{})
}

// post writes a note of a session, and reports whether all of its amount was kept.
func (t *table) post(by Position, n *Note) (whole bool) {
	of := t.notes[n.Key]
	was, now := of[by].Amount, n.Amount
	whole = true
	if n.Bounded {
		for k := range now {
			left := n.Most[k] // without underflow: amounts and bounds are at most 2^62
			for at, other := range of {
				if at != by {
					left = max(-1, left-other.Amount[k])
				}
			}
			whole = whole && (now[k] <= was[k] || now[k] <= left)
		}
		if !whole {
			now = now.Min(was)
		}
	}
	if now == (resources.Vector{}) && n.Need == (resources.Vector{}) {
		t.end(n.Key, by)
		return whole
	}
	if of == nil {
		of = make(map[Position]Note)
		t.notes[n.Key] = of
	}
	of[by] = Note{Key: n.Key, Amount: now, Need: n.Need}
	return whole
}

// end ends a note, and reports whether there was one.
func (t *table) end(key string, by Position) bool {
	of := t.notes[key]
	_, some := of[by]
	if delete(of, by); some && len(of) == 0 {
		delete(t.notes, key)
	}
	return some
}

// tallies returns what the other sessions beside one have written.
func (t *table) tallies(own Position) []Tally {
	all := make([]Tally, 0, len(t.notes))
	for _, key := range slices.Sorted(maps.Keys(t.notes)) {
		one := Tally{Key: key}
		for by, n := range t.notes[key] {
			if by == own {
				one.Own = n.Amount
				continue
			}
			one.Others = one.Others.Add(n.Amount)
			switch {
			case n.Need == (resources.Vector{}):
			case one.Waits:
				one.Need, one.Least = one.Need.Min(n.Need), one.Least.Min(n.Amount)
			default:
				one.Waits, one.Need, one.Least = true, n.Need, n.Amount
			}
		}
		all = append(all, one)
	}
	return all
}

// post writes the notes of an entry. Notes that cannot be decoded are skipped, in all copies.
func (s *state) post(by Position, body []byte) (ok bool) {
	name, notes, ok := decodeNotes(body)
	if !ok {
		return false
	}
	t, kept := s.table(name), uint64(1)
	for i := range notes {
		kept *= 3
		if t.post(by, &notes[i]) {
			kept++
		}
	}
	s.outcome(kept)
	t.change()
	return true
}

// unpost ends all notes of a session.
func (s *state) unpost(by Position) {
	for _, t := range s.boards {
		some := false
		for key := range t.notes {
			some = t.end(key, by) || some
		}
		if some {
			t.change()
		}
	}
}

// saveBoards returns the notes of all boards, in order: each with its board and session.
func (s *state) saveBoards() (b []byte) {
	for _, name := range slices.Sorted(maps.Keys(s.boards)) {
		notes := s.boards[name].notes
		for _, key := range slices.Sorted(maps.Keys(notes)) {
			for _, by := range slices.Sorted(maps.Keys(notes[key])) {
				n := notes[key][by]
				b = appendText(appendText(b, name), key)
				b = binary.AppendUvarint(b, uint64(by))
				b = appendVector(appendVector(b, &n.Amount), &n.Need)
			}
		}
	}
	return b
}

// restoreBoards is the reverse of saveBoards.
func (s *state) restoreBoards(b []byte) error {
	r := noteReader{rest: b}
	for len(r.rest) > 0 && !r.bad {
		name, key, by := r.text(), r.text(), Position(r.number())
		n := Note{Key: key, Amount: r.vector(), Need: r.vector()}
		if _, lives := s.sessions[by]; !lives || name == "" || key == "" {
			r.bad = true
			break
		}
		s.table(name).post(by, &n)
	}
	for _, t := range s.boards {
		t.change()
	}
	if r.bad {
		return fmt.Errorf("%w: boards of a checkpoint", ErrDamaged)
	}
	return nil
}
