package offers

import (
	"slices"
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

// News returns what has happened since the last call, and forgets it. The offers
// are those that can be answered at now. Cost: O(news). Errors: [ErrFenced],
// [ErrUnregistered].
func (h *Framework) News(now time.Time) (News, error) {
	if err := h.check(); err != nil {
		return News{}, err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return News{}, err
	}
	news := f.news
	f.news, f.notified = News{}, false
	news.Offers = slices.Grow(news.Offers, len(f.unread))
	for _, id := range f.unread {
		if o, err := m.ledger.offers.find(f, id); err == nil && !o.late(m.now) {
			m.caps.promise(o)
			news.Offers = append(news.Offers, o.Offer)
		}
	}
	f.unread = f.unread[:0]
	for _, a := range news.Answers {
		for i := range a.Offers {
			if n := m.floor.nodeOf(a.Offers[i].Machine); n != nil {
				a.Offers[i].Leave = n.leave
			}
		}
	}
	return news, nil
}

// awaits tells whether an offer answers a request, and the framework has not read of it.
func (f *member) awaits(id OfferID) bool {
	return slices.ContainsFunc(f.news.Answers, func(a Answer) bool {
		return slices.ContainsFunc(a.Offers, func(o Offer) bool { return o.ID == id })
	})
}

// late tells whether an offer can not be answered any more.
func (o *offer) late(now time.Time) bool { return !o.Deadline.IsZero() && !now.Before(o.Deadline) }
