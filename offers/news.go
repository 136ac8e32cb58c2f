package offers

import (
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// News holds the events of a framework since its last call of [Framework.News].
type News struct {
	// Offers are new, and outstanding. Offers of Answers are not among them. An offer that
	// was rescinded before it was read does not appear at all. So their number is bounded by
	// the offers that the framework may have at once.
	Offers []Offer
	// Ended are offers that were told of, and that the framework has not ended. They
	// may be of Answers in the same news.
	Ended []Ended
	// Tasks were preempted or lost. They stay marked until [Framework.Release], by which the
	// framework reports that they have stopped.
	Tasks []omega.Mark
	// Revoked are tasks that are to be preempted, since their room is guaranteed to others.
	// A task that was revoked before appears with its new time. A task that ended before the
	// news was read, or that is among Tasks, does not appear.
	Revoked []Notice
	// Spared are tasks that were revoked, and may stay after all. The news tell the last
	// state. So Spared may name a task that was revoked and spared since the last news. It
	// names no task that is among Revoked or has ended.
	Spared []omega.Allocation
	// Short, if not nil, is by how much the guarantees of all frameworks together now exceed
	// the cell. It has only the kinds that this framework is guaranteed, and is zero if the
	// framework can rely on its guarantee again. It changes when machines are lost or come,
	// when fewer frameworks are guaranteed something, and after a failure of the master. See
	// Registration.Guaranteed.
	Short *resources.Vector
	// Leave are inverse offers, which [Framework.Reply] answers.
	Leave []Leave
	// Answers are the outcomes of requests.
	Answers []Answer
}

// Ended is an offer that has ended, and why: [ErrRescinded] or [ErrExpired].
type Ended struct {
	Offer  OfferID
	Reason error
}

// Notice announces that a task is to be preempted. A framework that ends the task before,
// and calls [Framework.Release], decides itself how it ends. The preemption is cancelled,
// and News.Spared names the task, if the request that needs its room
//
//   - ends, or finds room otherwise,
//   - is beyond the guarantee by then (see Request.Revoke),
//   - cannot have room on that machine any more, which may be drained.
type Notice struct {
	Task omega.Allocation
	// Until is the time of the preemption, the zero time if Config.Grace is [Never]. Then
	// the request waits until the framework ends the task.
	Until time.Time
}
