package offers

import (
	"time"

	"github.com/cellsched/cellsched/omega"
)

// sessions follows frameworks as they come, go, fall silent and come back.
type sessions struct {
	*client
	registry   *registry
	inbox      *inbox
	accounts   *accountBook
	queue      *queue
	floor      *floor
	caps       *caps
	ledger     *ledger
	planner    *planner
	accepts    *accepts
	guarantees *guaranteeBook
	gangs      *gangs

	departing []*departure // of frameworks that have ended
	quiet     []*member    // that may come to be silent, see silenceQuiet
	called    bool         // since they were looked at last a framework has called or come
}

// startWatch begins to watch a framework that has just registered.
func (ss *sessions) startWatch(f *member) {
	ss.timers.Stop(&f.watch.timer)
	f.watch = watch{of: f, heard: ss.now}
	f.silent, f.vanished, ss.called = false, false, true
	ss.alarm(&f.watch, ss.now, ss.askAfter())
}

// alarm sets the timer of a watch to so long after a time.
func (ss *sessions) alarm(w *watch, t time.Time, d time.Duration) {
	if at := after(t, d); at.IsZero() {
		ss.timers.Stop(&w.timer)
	} else {
		ss.timers.Start(&w.timer, at, w)
	}
}

// departure is the rest of a framework that has ended: its tasks are to be released, and
// its scheduler is to leave the cell.
type departure struct {
	of      *member
	sched   *omega.Scheduler // has its tasks; nil if it never spoke to this master
	account omega.Account
	attempt omega.Attempt
	tasks   []omega.Allocation
	ended   bool // its tasks are released
}
