package offers

import (
	"time"

	"github.com/cellsched/cellsched/offers/internal/line"
	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// member is what the master knows of a framework, whoever speaks for it.
type member struct {
	name string
	line.Place
	account *account
	reg     Registration
	role    *role
	fits    omega.Mask       // machines that suit its other filters, nil if it has none at all
	meets   omega.Mask       // machines that meet its constraints, nil if there are none
	uses    omega.Mask       // both, nil for all: see index
	narrow  bool             // those are few
	useless bool             // there are none
	sched   *omega.Scheduler // in whose name its tasks are; nil until it has registered

	connected  bool // somebody speaks for it
	suppressed bool
	gone       bool
	evicted    bool
	timer      timers.Timer // of its return, while it is away

	watch    watch // of its calls
	silent   bool  // there were none for long
	vanished bool  // nor for so long that it was taken for gone, see comeBack

	offered resources.Vector // what its outstanding offers add up to
	ended   resources.Vector // what of that is of offers that have ended, see discharge
	offers  []*offer
	plans   int        // revocations that have begun for it
	rests   uint64     // before that turn nothing is gathered for it
	picked  int        // offers to be, of a round that is not committed yet, and of accept
	accept  *accepting // on the way or in doubt, nil if there is none
	most    float64    // the part of the cell that it is offered at once

	shown resources.Vector // of long tasks, by its optimistic offers

	here *offer // its optimistic offer on the machine that is being offered

	lapsed   time.Time // when it let offers expire last
	refusals int       // since it accepted anything
	class    uint8     // what follows from that
	filters  map[uint32]*filter

	fresh  bool // the order was not asked yet
	queued bool // it is in line
	hungry bool // it is to be offered what others have left
	seen   uint64

	short     resources.Vector // of what it is guaranteed, as it was told
	news      News
	unread    []OfferID
	notified  bool
	toldMarks map[omega.AllocationID]bool
}

// wants tells whether a framework is to be offered anything.
func (f *member) wants() bool { return f.connected && !f.suppressed && !f.useless && !f.silent }
