package drf

import "time"

// heldNode is the machine that is held, and for whom.
type heldNode struct {
	seat *Seat
	node uint32
}

// Hold keeps the others off one machine, by the caller's number of it, until
// enough has ended there for a need that fits nowhere: otherwise their small
// tasks take what becomes free, for ever. It waits no longer than what runs
// there. One seat at a time holds one machine; Hold reports whether it is this
// one: false while another does that has been heard of within the gate's
// patience. A seat that holds is to ask again as often as that. It is for who
// was passed over: see [Seat.Miss].
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

// LetGo ends Hold: the task is placed, or wanted no more.
func (s *Seat) LetGo() {
	if s.none() {
		return
	}
	if h := s.gate.held.Load(); h != nil && h.seat == s {
		s.gate.held.CompareAndSwap(h, nil)
	}
}

// Barred returns the machine that another seat holds, if any does: it is not to
// be taken from.
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
