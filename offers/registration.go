package offers

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Registration says who a framework is and what it wants to be offered. The zero
// Registration with a name is one of weight 1 that wants whatever there is.
type Registration struct {
	// Name is unique among the frameworks of a master, as [resources.CheckName] has it and
	// without a slash. It is bounded with that of the master and a slash in front.
	Name string
	// Role is whom it works for: roles share the cell, frameworks their role.
	Role string
	// Weight is what it counts in its role, from [drf.MinWeight] to [drf.MaxWeight];
	// 0 is 1.
	Weight float64
	// Precedence is that of its tasks, and of what is offered to it.
	Precedence omega.Precedence
	// Account is whom tasks and offers are charged to; 0 is one of its own,
	// called as it is. What others charge to it counts for the framework, too, at
	// once if they are frameworks and else from the next [Master.Step] on:
	// those who share an account get together what one alone would, and a role counts it
	// once. Cost: whenever it has been charged, O(roles + frameworks of the roles of
	// those who share it) before the next offer is made.
	// A cell keeps accounts for ever: where many frameworks come and go, charge
	// them to that of whom they work for.
	Account omega.Account

	// Machines are those that it can use, nil for all.
	Machines omega.Mask
	// Labels are attributes that a machine must have, with one of the values
	// given, or with any if none is.
	Labels map[string][]string
	// Constraints are what else a machine must meet, by its node number, nil for
	// nothing: see [locality.Attributes.Require]. Those that come to meet them, or
	// do not any more, are noticed by the next [Master.Step]; offers that are out
	// stay. Cost: as for other filters a bit for each machine when it is offered, if
	// the machines that it can use are more than four and than one in 64,
	// and each 64 machines once by Step.
	Constraints *locality.Constraints
	// Minimum is the least that is of use to it, of all kinds.
	Minimum resources.Vector
	// Guaranteed is what the framework can have whenever it asks for it, by a
	// [Request] that may revoke what others hold beyond their own: up to that much
	// of its own tasks is never revoked. A kind of which it is 0 is not guaranteed.
	// What all are guaranteed has to fit in the cell, as the master has seen it. If
	// machines go later so that it does not, the guarantees stay: still nobody loses
	// what it is guaranteed, so requests may wait for what there is not, and those
	// concerned are told by News.Short. So they stay when a new master takes over: it
	// takes the word of those of whose tasks it knows from the cell, whatever it has
	// guaranteed to others by then. Those who had none come as anybody else.
	Guaranteed resources.Vector
	// Outstanding is the largest part of the cell, as a dominant share, that it is
	// offered before it answers: it gets no other offer while it has more. 0 is
	// its fair share among those who want offers and can use any of the machines that
	// there are, full or not. Of whoever does not accept it is less: see [Framework.Decline].
	// Where that share becomes smaller since somebody registers or revives, offers beyond
	// it that were not read of yet are rescinded, the latest first, if that one can use
	// them, and offered by the Order. Those that were read of stay until they are answered.
	Outstanding float64

	// Suppressed has it begin as by [Framework.Suppress]: it is offered nothing but what
	// it asks for by a [Request] until it revives. That is for who wants gangs only, or
	// is not ready yet.
	Suppressed bool

	// Long are those of its tasks that run for long, which a new master does not
	// know; others than its own are not looked at.
	Long []omega.AllocationID

	// Failover is how long its tasks and offers last while it is away; by default
	// they do not. See [Framework.Disconnect].
	Failover Span
	// Epoch numbers those who speak for it, one after the other: a standby takes over
	// from whoever is there with a higher one, and that one fails with [ErrFenced]
	// from then on, also if it tries to register again. Who comes back needs one that
	// is not lower than the last. Whoever never takes over leaves it 0. A new
	// master learns it from those who register with it, and nobody remembers it of a
	// framework that has ended.
	Epoch uint64

	// Notify, if not nil, is called when there is news to be read, once until it
	// is, also without any to ask a framework that has not called for as long as an offer
	// lasts whether it is there (see Config.Liveness), and when somebody else speaks for the framework, or nobody any more, so
	// that News fails.
	//
	// It is called by whichever call of the master, or of any framework, brings the
	// news, before that returns, one after the other where several have news. So it
	// must not block: it would hold up that call, perhaps another framework's, and
	// whoever is to be notified after it. The mutex is free, but what it calls of the
	// master or of a framework may call it again before it returns: it should do no
	// more than wake whoever reads the news. If it panics, the others are notified,
	// then the call panics that brought the news: what that did stays done, but what it
	// was about to return is lost.
	Notify func()
}

// complete puts in what the zero Registration stands for.
func (r *Registration) complete() {
	if r.Weight == 0 {
		r.Weight = 1
	}
}

func (r *Registration) check(master string) error {
	if err := checkName("framework", r.Name); err != nil {
		return err
	}
	if err := resources.CheckName(master + "/" + r.Name); err != nil {
		return fault.New("offers", "scheduler of framework", err, ErrName)
	}
	if r.Role != "" {
		if err := resources.CheckName(r.Role); err != nil {
			return fault.Newf("offers", wrapName(err), "framework %q: role", r.Name)
		}
	}
	for key, values := range r.Labels { // any of several mistakes
		if err := resources.CheckName(key); err != nil {
			return fault.Newf("offers", wrapName(err), "framework %q: label", r.Name)
		}
		for _, value := range values {
			if err := resources.CheckName(value); err != nil && value != "" {
				return fault.Newf("offers", wrapName(err), "framework %q: value of label %q", r.Name, key)
			}
		}
	}
	if err := checkWeight(r.Weight); err != nil {
		return fault.Newf("offers", err, "framework %q", r.Name)
	}
	if !(r.Outstanding >= 0 && r.Outstanding <= 1) {
		return fmt.Errorf("%w: framework %q: outstanding offers of %v: want 0 to 1", ErrFraction, r.Name, r.Outstanding)
	}
	if err := r.Minimum.Check(); err != nil {
		return fault.Newf("offers", err, "framework %q: minimum", r.Name)
	}
	if err := r.Guaranteed.Check(); err != nil {
		return fault.Newf("offers", err, "framework %q: guarantee", r.Name)
	}
	if err := r.Failover.check("failover", 0); err != nil {
		return fault.Newf("offers", err, "framework %q", r.Name)
	}
	return nil
}

// copied returns a registration that shares nothing with the caller's.
func (r *Registration) copied() Registration {
	c := *r
	c.Machines, c.Long = slices.Clone(r.Machines), nil
	if r.Labels != nil {
		c.Labels = make(map[string][]string, len(r.Labels))
		for k, v := range r.Labels {
			c.Labels[k] = slices.Clone(v)
		}
	}
	return c
}
