package offers

import (
	"math"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Standing is what an [Order] sees of a framework, or of a role as a whole.
type Standing struct {
	Name       string
	Weight     float64          // as registered; of a role see [Master.SetRoleWeight]
	Precedence omega.Precedence // of a role the highest of its frameworks
	// Held is what is charged to the framework's account, what is offered to it
	// included; of a role the sum of that.
	Held resources.Vector
	// Total is the capacity of all machines.
	Total resources.Vector
	// Rank is what the order said last, and Chosen whether something has been
	// offered to it since then. Before the first time it is New.
	Rank        float64
	Chosen, New bool
}

// Order says who is next: room is offered to the framework of the smallest
// rank, among equals to the one that was offered something longest ago. Roles are
// ordered first, then the frameworks in each.
//
// The master asks whenever what is held has changed, with its mutex held: Rank
// is to be quick and must not call the master. An infinite rank is last; one
// that is not a number counts as infinite. If it panics, so does the call that
// asked, half done: then have another master take the place of this one, as [New]
// says, since that finds in the cell what there is.
type Order interface {
	Rank(s Standing) float64
}

// DRF is weighted dominant resource fairness: whoever holds the least of what it
// holds most of, relative to its weight, is next. A. Ghodsi et al., "Dominant
// resource fairness: fair allocation of multiple resource types", NSDI 2011.
//
// Shares are rounded to 53 binary digits: whose are closer than that may get
// the next offer out of turn. Those of roles are of what their frameworks hold
// in sum, as in Mesos. Package drf/pools avoids what is unfair about that by
// looking at what users demand; here nobody says.
type DRF struct{}

// Rank returns the weighted dominant share.
func (DRF) Rank(s Standing) float64 { return share(&s.Held, &s.Total) / s.Weight }

// Priority is strict: who has the higher precedence is next.
type Priority struct{}

// Rank returns the precedence, the higher the smaller.
func (Priority) Rank(s Standing) float64 { return -float64(s.Precedence) }

// share returns the largest part of any kind. A kind that there is none of plays
// no part.
func share(held, total *resources.Vector) (most float64) {
	for k, q := range held {
		if q > 0 && total[k] > 0 {
			most = max(most, float64(q)/float64(total[k]))
		}
	}
	return most
}

// ordered makes comparable what an order says.
func ordered(rank float64) float64 {
	if math.IsNaN(rank) {
		return math.Inf(1)
	}
	return rank
}
