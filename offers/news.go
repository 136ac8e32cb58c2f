package offers

import (
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// News is what has happened to a framework since it last asked.
type News struct {
	// Offers are new, and outstanding. Those of Answers are not among them. One that was taken back before anybody
	// read of it does not appear at all, so their number is bounded by what is
	// offered at once.
	Offers []Offer
	// Ended are offers that were told of, and that the framework has not ended. They
	// may be of Answers in the same news.
	Ended []Ended
	// Tasks were preempted or lost. They stay marked until [Framework.Release],
	// by which the framework says that they have stopped.
	Tasks []omega.Mark
	// Revoked are tasks that are to be preempted, since others are guaranteed
	// what they hold. Of one that was revoked before, this is the new time. One that
	// has ended before anybody read of it, or is among Tasks, does not appear.
	Revoked []Notice
	// Spared are tasks that were revoked, and may stay after all. What holds last is
	// what is told, so it may name one that was revoked and spared since the last
	// news, and none that is among Revoked or has ended.
	Spared []omega.Allocation
	// Short, if not nil, is by how much more than the cell has all frameworks are now
	// guaranteed together, since machines were lost, have come or are promised to
	// fewer, or the master has failed: of the kinds that this one is guaranteed, nothing if it can rely on
	// that again. See Registration.Guaranteed.
	Short *resources.Vector
	// Leave are inverse offers, which [Framework.Reply] answers.
	Leave []Leave
	// Answers are what became of requests.
	Answers []Answer
}

// Ended is an offer that has ended, and why: [ErrRescinded] or [ErrExpired].
type Ended struct {
	Offer  OfferID
	Reason error
}

// Notice says that a task is to be preempted. A framework that ends it before,
// and says so by [Framework.Release], decides itself how. It does not come to that
// if the request ends for which it was to make room, or finds room otherwise, or is
// beyond the guarantee by then (see Request.Revoke), or can not have it on that
// machine any more, which may be drained: then News.Spared names it.
type Notice struct {
	Task omega.Allocation
	// Until is when it is preempted, the zero time if Config.Grace is [Never]: then the
	// request waits until its framework ends it.
	Until time.Time
}
