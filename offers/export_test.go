package offers

import (
	"fmt"
	"slices"
)

// Forgotten names the frameworks that are noted to be offered leftovers, and are not
// among the frameworks that will be.
func (m *Master) Forgotten() (names []string) {
	if m.none() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.registry.order {
		if f.wantsLeftovers && !slices.Contains(m.queue.leftovers, f) {
			names = append(names, f.name)
		}
	}
	return names
}

// Members returns how many frameworks the master knows.
func (m *Master) Members() int {
	if m.none() {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.registry.members)
}

// Leftovers returns the rest of the state of frameworks that a master keeps when none is
// registered.
func (m *Master) Leftovers() (left []string) {
	if m.none() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	say := func(is bool, format string, args ...any) {
		if is {
			left = append(left, fmt.Sprintf(format, args...))
		}
	}
	say(len(m.registry.members)+len(m.registry.order) > 0, "%d members, %d in order", len(m.registry.members), len(m.registry.order))
	for _, r := range m.queue.byRole {
		say(r.members > 0 || r.held != [8]int64{}, "role %q: %d members hold %v", r.name, r.members, r.held)
		say(r.weight == 1, "role %q is remembered", r.name)
		for _, line := range r.lines {
			say(line.Len() > 0, "role %q: %d in line", r.name, line.Len())
		}
	}
	say(m.queue.roles.Len() != len(m.queue.byRole), "%d roles of %d", m.queue.roles.Len(), len(m.queue.byRole))
	for _, n := range m.floor.nodes {
		say(len(n.offers) > 0, "machine %v: %d offers", n.id, len(n.offers))
		say(n.long != [8]int64{}, "machine %v: long tasks hold %v", n.id, n.long)
		say(n.kept != nil, "machine %v is kept for a revocation", n.id)
		say(n.last != nil, "machine %v was refused by one that is gone", n.id)
		say(n.dirty, "machine %v is to be looked at", n.id)
	}
	say(len(m.floor.dirty)+len(m.queue.leftovers)+len(m.rounds.picks) > 0, "%d to look at, %d to feed, %d picks", len(m.floor.dirty), len(m.queue.leftovers), len(m.rounds.picks))
	say(len(m.ledger.offers.vacant)-m.ledger.offers.head != len(m.ledger.offers.slots), "offers: %d vacant of %d",
		len(m.ledger.offers.vacant)-m.ledger.offers.head, len(m.ledger.offers.slots))
	say(m.timers.Len() > 0, "%d timers", m.timers.Len())
	say(len(m.accounts.byID)+len(m.accounts.moved) > 0, "%d accounts, of which %d have moved", len(m.accounts.byID), len(m.accounts.moved))
	say(m.gangs.room.of != nil || len(m.gangs.unwanted) > 0, "%d machines are reserved, %d reservations are unwanted", len(m.gangs.room.nodes), len(m.gangs.unwanted))
	say(len(m.registry.requests) > 0, "%d requests", len(m.registry.requests))
	say(len(m.caps.longs) > 0 || m.caps.long != [8]int64{}, "%d long tasks hold %v", len(m.caps.longs), m.caps.long)
	return left
}

// The defaults, for tests.
const (
	DefaultName     = defaultName
	DefaultRefuse   = defaultRefuse
	DefaultRecovery = defaultRecovery
	DefaultGrace    = defaultGrace
	DefaultLiveness = defaultLiveness
	MaxRefuse       = maxRefuse
)

// Errors that tests tell apart; programs see ErrConfig.
var (
	ErrName     = errName
	ErrSpan     = errSpan
	ErrWeight   = errWeight
	ErrFraction = errFraction
)

// Errors that tests tell apart; programs see ErrUnknown.
var (
	ErrUsed     = errUsed
	ErrDeclined = errDeclined
	ErrForeign  = errForeign
	ErrMachine  = errMachine
)
