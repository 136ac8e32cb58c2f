package offers

import (
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// Task is a task that a framework starts on its offers.
type Task struct {
	Need resources.Vector // something, and no more than was offered
	// Long marks a task that will run for long: see Offer.Long.
	Long bool
}

// Launch is tasks on one machine, and the offers that they are started on.
type Launch struct {
	Offers []OfferID // one at least, of one machine; their room is taken together
	Tasks  []Task    // one at least
	// Refuse hides the rest of the room from the framework, as [Framework.Decline] does, if
	// Filter is set. If not, the rest may be offered to it again at once.
	Filter bool
	Refuse Span
}

// equal reports whether two launches ask for the same.
func (l Launch) equal(other Launch) bool {
	return l.Filter == other.Filter && l.Refuse == other.Refuse &&
		slices.Equal(l.Offers, other.Offers) && slices.Equal(l.Tasks, other.Tasks)
}
