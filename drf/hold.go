package drf

import "time"

// heldNode is a machine that a seat has reserved.
type heldNode struct {
	seat *Seat
	node uint32
}

// Hold reserves one machine, by the caller's number, for a need that fits nowhere
// yet: the other seats are not to take room there until enough has ended. Without
// it their small tasks can take all freed room for ever. The wait is no longer than
// the tasks that run there.
//
// One seat at a time holds one machine. Hold reports whether it is this seat. It
// returns false while another seat holds a machine and has called within the gate's
// patience. A seat that holds a machine has to call again as often as that. Hold is
// for a seat that was passed over too often: see [Seat.Miss].
func (s *Seat) Hold(node uint32, now time.Time) bool {
	if s.none() {
		return false
	}
	for s.state.Load()&stateMask != gone {
		h := s.gate.held.Load()
		if h != nil && h.seat != s && h.alive(now) {
			return false
		}
		if h != nil && h.seat == s && h.node == node {
			return true
		}
		if s.gate.held.CompareAndSwap(h, &heldNode{s, node}) {
			return true
		}
	}
	return false
}

// LetGo ends Hold, when the task is placed or no longer wanted.
func (s *Seat) LetGo() {
	if s.none() {
		return
	}
	if h := s.gate.held.Load(); h != nil && h.seat == s {
		s.gate.held.CompareAndSwap(h, nil)
	}
}

// Barred returns the machine that another seat holds, if any. The caller must not
// take room there.
func (s *Seat) Barred(now time.Time) (node uint32, ok bool) {
	if s.none() {
		return 0, false
	}
	h := s.gate.held.Load()
	if h == nil || h.seat == s || !h.alive(now) {
		return 0, false
	}
	return h.node, true
}

func (h *heldNode) alive(now time.Time) bool {
	s := h.seat
	return s.state.Load()&stateMask != gone && now.UnixNano()-s.heard.Load() <= int64(s.gate.patience)
}
