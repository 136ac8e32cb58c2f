package journal

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxSessions is how many sessions a journal remembers. One more ends the oldest.
const maxSessions = 1 << 12

// session is the state of a session, the same in all copies.
type session struct {
	number uint64        // of its last entry
	ttl    time.Duration // 0 for a session that does not expire
	knows  byte          // the latest version of entries that its process reads, 0 for not known
}

// The body of a keepEntry is an action and its numbers.
//
// A session ends by order, not by time. A process that has heard nothing of a session for
// the TTL of that appends expireSession with the last number that it knows. The session ends
// if that number is its last one still: a keepEntry that came first has another. Each copy
// finds the same, whatever its clock says.
const (
	keepSession   = iota + 1 // keeps the writer's session: its TTL
	expireSession            // ends a session: its number, and the number of its last entry
	settleSession            // the schedulers of an expired session are gone: its number
	spendShare               // of the cell, in millionths, is released of expired sessions: see [Cell.reap]
	askShare                 // all of it may be
	postNotes                // writes notes on a board; from version 3 on
	lastAction
)

// keeping is the action of a keepEntry.
type keeping struct {
	action byte
	args   [2]uint64
	knows  byte   // of keepSession: the latest version that its process reads
	notes  []byte // of postNotes
}

// args returns how many numbers an action has.
func args(action byte) int {
	switch action {
	case expireSession:
		return 2
	case askShare, postNotes:
		return 0
	}
	return 1
}

func (k keeping) encode(b []byte) []byte {
	b = append(b, k.action)
	for _, x := range k.args[:args(k.action)] {
		b = binary.AppendUvarint(b, x)
	}
	if k.action == keepSession {
		b = append(b, latest) // processes of version 2 read no further than the TTL
	}
	return append(b, k.notes...)
}

// decodeKeeping returns the action in the body of an entry, and false for none that this
// version knows.
func decodeKeeping(body []byte) (k keeping, ok bool) {
	if len(body) == 0 || body[0] == 0 || body[0] >= lastAction {
		return k, false
	}
	k.action, body = body[0], body[1:]
	for i := range args(k.action) {
		x, n := binary.Uvarint(body)
		if n <= 0 {
			return k, false
		}
		k.args[i], body = x, body[n:]
	}
	switch k.action {
	case keepSession:
		k.knows = expiring
		if len(body) > 0 {
			k.knows = max(k.knows, min(body[0], latest))
		}
	case postNotes:
		k.notes = body
	}
	return k, true
}

// announce makes e keep the session of a process in a journal of the oldest version. There it
// is an entry without operations, for those that know no other. It has no checks, and in
// their place the version that its process reads, and the TTL.
func (e *entry) announce(ttl time.Duration) {
	e.applied, e.log, e.state = 0, latest, uint32(min(ttl.Milliseconds(), 1<<32-1))
}

// announced returns the version and the TTL that an entry announces.
func (e *entry) announced() (knows byte, ttl time.Duration, ok bool) {
	ok = e.kind == opsEntry && e.applied == 0 && e.log > oldest && len(e.body) == 0
	return byte(min(e.log, latest)), time.Duration(e.state) * time.Millisecond, ok
}

// begin begins a session, and ends the oldest of too many.
func (s *state) begin(at Position) {
	s.sessions[at] = session{number: 1}
	if len(s.sessions) > maxSessions {
		s.end(slices.Min(slices.Collect(maps.Keys(s.sessions))))
	}
}

// raise notes the version of an entry. Sessions tell their TTL again in the version behind the
// oldest one, whose checkpoints lack it.
func (s *state) raise(version byte) {
	if version <= s.version {
		return
	}
	was := s.version
	if s.version = version; was > oldest {
		return
	}
	for at, one := range s.sessions {
		one.ttl = 0
		s.sessions[at] = one
	}
}

// end ends a session that may have left schedulers.
func (s *state) end(at Position) {
	one, lives := s.sessions[at]
	s.unpost(at)
	if delete(s.sessions, at); lives && one.ttl > 0 && s.version > oldest {
		i, _ := slices.BinarySearch(s.expired, at)
		s.expired = slices.Insert(s.expired, i, at)
		if len(s.expired) > maxSessions {
			s.expired = slices.Delete(s.expired, 0, 1) // no process has ended any for long
		}
	}
}

// keep does what a keepEntry of a session asks for. It returns the session that has ended, if
// any.
func (s *state) keep(by Position, k keeping) (ended Position) {
	switch of := Position(k.args[0]); k.action {
	case keepSession:
		one := s.sessions[by]
		one.ttl, one.knows = time.Duration(min(k.args[0], 1<<62)), k.knows
		s.sessions[by] = one
	case expireSession:
		if one, lives := s.sessions[of]; lives && of != by && one.number == k.args[1] {
			s.end(of)
			ended = of
		}
		s.outcome(uint64(ended))
	case settleSession:
		s.expired = slices.DeleteFunc(s.expired, func(at Position) bool { return at == of })
	}
	return ended
}

// reaper returns the session that ends what expired ones have left: the oldest that can
// expire itself. 0 for none.
func (s *state) reaper() (at Position) {
	for one, of := range s.sessions {
		if of.ttl > 0 && (at == 0 || one < at) {
			at = one
		}
	}
	return at
}

// suffix is the end of the names of schedulers that end with a session.
func suffix(at Position) string { return fmt.Sprintf("@session-%d", at) }
