package simulate

import (
	"time"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// turn is a scheduler's seat at the gate, and the debt of one attempt to it. A nil
// turn is that of a scheduler which does not ask.
//
//	ask ─▶ place ─▶ placed ─▶ think ─▶ committed   …   over
//	charged         Miss               Keep, Undo      Return
type turn struct {
	seat   *gate.Seat
	need   resources.Vector
	asked  int // tasks that were told yes
	missed int // of these, without room: told once the others are kept
}

func newTurn(g *gate.Gate) (*turn, error) {
	seat, err := g.Join(1)
	return &turn{seat: seat}, err
}

// ask asks for k tasks, one by one, and returns how many it is the turn of.
func (t *turn) ask(need resources.Vector, k int, now time.Time) (n int, err error) {
	t.need, t.asked, t.missed = need, 0, 0
	for t.asked < k {
		yes, err := t.seat.Ask(need, now)
		if err != nil || !yes {
			return t.asked, err
		}
		t.asked++
	}
	return t.asked, nil
}

// placed takes the number for which there is room, and whether they will be committed.
func (t *turn) placed(found int, committed bool, now time.Time) error {
	if t == nil {
		return nil
	}
	t.missed = t.asked - found
	if committed {
		return nil
	}
	t.missed = t.asked
	return t.miss(now)
}

// committed takes the outcome of those that there was room for. The seat is
// parked last, since keeping a task wakes it.
func (t *turn) committed(granted, refused int, now time.Time) error {
	if t == nil {
		return nil
	}
	for range granted {
		t.seat.Keep()
	}
	if err := t.seat.Undo(t.need.Scale(int64(refused))); err != nil {
		return err
	}
	return t.miss(now)
}

// miss gives back the charge for tasks that there was no room for.
func (t *turn) miss(now time.Time) error {
	if t.missed == 0 {
		return nil
	}
	_, err := t.seat.Miss(t.need.Scale(int64(t.missed)), now)
	return err
}

// over gives back the need of one task.
func (t *turn) over(need resources.Vector) error {
	if t == nil {
		return nil
	}
	return t.seat.Return(need)
}

// usage returns the amount that the seat is charged for.
func (t *turn) usage() resources.Vector {
	if t == nil {
		return resources.Vector{}
	}
	return t.seat.Usage()
}

// rest notes that the scheduler wants nothing for now.
func (t *turn) rest() {
	if t != nil {
		t.seat.Rest()
	}
}
