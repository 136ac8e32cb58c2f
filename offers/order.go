package offers

import (
	"math"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Standing is the state of a framework, or of a role as a whole, that an [Order] ranks.
type Standing struct {
	Name       string
	Weight     float64          // as registered; of a role see [Master.SetRoleWeight]
	Precedence omega.Precedence // of a role the highest of its frameworks
	// Held is the amount that is charged to the framework's account, its offers included. Of
	// a role it is the sum over its accounts.
	Held resources.Vector
	// Total is the capacity of all machines.
	Total resources.Vector
	// Rank is the previous rank, and Chosen reports whether room has been offered since
	// then. New is true before the first rank.
	Rank        float64
	Chosen, New bool
}

// Order ranks frameworks and roles for offers. Room is offered to the framework of the
// smallest rank. Among equals it goes to the one that was offered something longest ago.
// Roles are ordered first, then the frameworks in each.
//
// The master calls Rank whenever what is held has changed, with its mutex held. So Rank
// is to be quick and must not call the master. An infinite rank is last; NaN counts as
// infinite.
//
// If Rank panics, so does the call of the master, half done. Then have another master
// take the place of this one by [New], which finds the state in the cell.
type Order interface {
	Rank(s Standing) float64
}

// DRF is weighted dominant resource fairness: the framework with the smallest dominant
// share, relative to its weight, is next. A. Ghodsi et al., "Dominant resource fairness:
// fair allocation of multiple resource types", NSDI 2011.
//
// Shares are rounded to 53 binary digits. Frameworks with closer shares may get the next
// offer out of turn. The share of a role is that of the sum of what its frameworks hold,
// as in Mesos. Package drf/pools avoids what is unfair about that by looking at the
// demand of users; here frameworks do not state their demand.
type DRF struct{}

// Rank returns the weighted dominant share.
func (DRF) Rank(s Standing) float64 { return share(&s.Held, &s.Total) / s.Weight }

// Priority is an [Order] by strict precedence: the framework of the higher precedence is
// next.
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

// ordered makes the rank of an order comparable.
func ordered(rank float64) float64 {
	if math.IsNaN(rank) {
		return math.Inf(1)
	}
	return rank
}
