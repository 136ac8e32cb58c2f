package elastic

import (
	"math"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Room is how full a cell is, and how many more workers of a kind would fit.
//
// The zero Room is a cell without machines. It is a plain value, and out of date as
// soon as any scheduler commits.
type Room struct {
	Workers int // that fit beside the present allocations
	// Used and Total are sums over all machines of the cell, with draining machines
	// and machines that the scheduler may not claim.
	Used, Total resources.Vector
}

// Look returns the room that the snapshot has for workers that each are placed by query
// q. A worker fits where [omega.Snapshot.Find] finds room. So there is room for as many
// as [omega.Snapshot.Place] would place. Room that the scheduler has taken in the
// snapshot counts as used.
//
// It only reads, and is called from the snapshot's goroutine. Cost: O(machines).
// Errors: resources.ErrQuantity for a need that is invalid or zero.
func Look(s *omega.Snapshot, q omega.Query) (Room, error) {
	if s == nil {
		return Room{}, refuse(resources.ErrNil, "snapshot")
	}
	if err := checkNeed(q.Need); err != nil {
		return Room{}, err
	}
	var room Room
	for _, free := range s.Fitting(q) {
		room.Workers = min(room.Workers+times(q.Need, free), math.MaxInt32)
	}
	for m := range s.Machines() {
		room.Total = room.Total.Add(m.Capacity)
		if used, ok := m.Capacity.Sub(m.Free); ok {
			room.Used = room.Used.Add(used)
		}
	}
	return room, nil
}

// Less returns the room once n workers more of the given need are in it. If n is
// negative it returns the room itself, since removed workers do not say which room they
// had.
func (r Room) Less(need resources.Vector, n int) Room {
	n = max(n, 0)
	r.Workers = max(r.Workers-n, 0)
	r.Used = r.Used.Add(need.Scale(int64(n))).Min(r.Total)
	return r
}

func (r Room) check() error {
	if r.Workers < 0 {
		return refuse(ErrRoom, "%d workers fit, want 0 or more", r.Workers)
	}
	if err := r.Total.Check(); err != nil {
		return refuse(err, "total of the room")
	}
	if err := r.Used.Check(); err != nil {
		return refuse(err, "used of the room")
	}
	if !r.Used.Fits(r.Total) {
		return refuse(ErrRoom, "%s used, want at most the total, %s", format(r.Used), format(r.Total))
	}
	return nil
}

// format prints v. Its kinds have no names here.
func format(v resources.Vector) string { return (*resources.Space)(nil).Format(v) }

// below returns how many workers may come, or have to go where it is negative,
// until the cap, in per cent, is reached in the first kind that they need.
func (r Room) below(percent int, need resources.Vector) int {
	n := int64(math.MaxInt32)
	for k, q := range need {
		if q > 0 {
			n = min(n, floorDiv(share(r.Total[k], percent)-r.Used[k], q))
		}
	}
	return int(max(n, -math.MaxInt32))
}

func checkNeed(need resources.Vector) error {
	if err := need.CheckNeed(); err != nil {
		return refuse(err, "worker's need")
	}
	return nil
}

// times returns how often need, which is not nothing, fits in free.
func times(need, free resources.Vector) int {
	n := int64(math.MaxInt32)
	for k, q := range need {
		if q > 0 {
			n = min(n, free[k]/q)
		}
	}
	return int(n)
}

// share returns a percentage of a quantity, rounded down.
func share(q int64, percent int) int64 {
	p := int64(percent)
	return q/100*p + q%100*p/100
}

// floorDiv returns a / b rounded down, for b above 0.
func floorDiv(a, b int64) int64 {
	if a >= 0 {
		return a / b
	}
	return -((-a-1)/b + 1)
}
