package offers

import (
	"time"

	"github.com/cellsched/cellsched/omega"
)

// Master offers the free room of a cell to frameworks, each piece to one framework at a
// time.
//
// A Master starts no goroutine. It makes an offer in the call that frees the room, and
// [Master.Step] does the rest: expiries, and changes that other schedulers made in the
// cell. It is safe for concurrent use. It holds a mutex for the length of a call, and no
// call waits for another party while it holds it.
//
// All state of a Master is in the cell or comes with registrations, except for which
// framework has declined which room: see [New].
//
// Costs of O(log n) for an offer include the move of a framework in the order of its
// role. In a role of up to about a thousand frameworks the order is a slice, and a move
// shifts the places between, of 32 bytes each. In a longer one it is a tree. Frameworks
// that share an account move together: O(frameworks of their roles).
type Master struct {
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
	rounds     *rounds
	sessions   *sessions

	onState func(omega.MachineState) // see, bound once

	next   time.Time     // when the last call ended something was due then; zero if nothing was
	sooner chan struct{} // closed when that becomes earlier; nil if no caller has asked
}

// newMaster makes the components of a master, each with those that it builds on.
func newMaster(c *client) *Master {
	m := &Master{client: c}
	m.registry, m.accounts = newRegistry(c), newAccountBook(c)
	m.inbox = &inbox{client: c, registry: m.registry}
	m.queue = newQueue(c, m.registry, m.accounts, m.inbox)
	m.floor = &floor{client: c, registry: m.registry, queue: m.queue, words: omega.Mask{}}
	m.caps = &caps{client: c, floor: m.floor, longs: make(map[omega.AllocationID]longTask)}
	m.ledger = &ledger{client: c, registry: m.registry, inbox: m.inbox, queue: m.queue, floor: m.floor, caps: m.caps}
	m.planner = newPlanner(c, m.unlock)
	m.accepts = &accepts{
		client: c, registry: m.registry, accounts: m.accounts, queue: m.queue, floor: m.floor, caps: m.caps,
		ledger: m.ledger, planner: m.planner,
	}
	m.guarantees = &guaranteeBook{
		client: c, registry: m.registry, inbox: m.inbox, queue: m.queue, floor: m.floor, accepts: m.accepts,
	}
	m.gangs = newGangs(&gangs{
		client: c, registry: m.registry, inbox: m.inbox, queue: m.queue, floor: m.floor, caps: m.caps,
		ledger: m.ledger, planner: m.planner, accepts: m.accepts, guarantees: m.guarantees,
	})
	m.rounds = newRounds(&rounds{
		client: c, registry: m.registry, queue: m.queue, floor: m.floor, ledger: m.ledger, planner: m.planner, gangs: m.gangs,
	})
	m.sessions = &sessions{
		client: c, registry: m.registry, inbox: m.inbox, accounts: m.accounts, queue: m.queue, floor: m.floor, caps: m.caps,
		ledger: m.ledger, planner: m.planner, accepts: m.accepts, guarantees: m.guarantees, gangs: m.gangs,
	}
	m.onState = m.see
	return m
}

// none reports whether m is nil, or not made by [New].
func (m *Master) none() bool { return m == nil || m.client == nil }

// check returns an error for a master that [New] has not returned.
func (m *Master) check() error {
	if m.none() {
		return missing("master is nil or zero: want one of New")
	}
	return nil
}
