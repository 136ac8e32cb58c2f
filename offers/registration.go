package offers

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Registration holds the name of a framework and its wishes for offers. The zero
// Registration with a name has weight 1 and accepts offers of any room.
type Registration struct {
	// Name is unique among the frameworks of a master, as [resources.CheckName] has it and
	// without a slash. It is bounded with that of the master and a slash in front.
	Name string
	// Role is the group that the framework works for. Roles share the cell, frameworks their
	// role.
	Role string
	// Weight is the weight of the framework in its role, from [drf.MinWeight] to
	// [drf.MaxWeight]; 0 is 1.
	Weight float64
	// Precedence is the precedence of its tasks and offers.
	Precedence omega.Precedence
	// Account is the account that tasks and offers are charged to; 0 is one of the
	// framework's own, with its name. Charges by other schedulers count for the framework,
	// too: those of frameworks at once, others from the next [Master.Step] on. Frameworks
	// that share an account get together what one alone would, and a role counts the account
	// once.
	//
	// Cost: after each charge, O(roles + frameworks of the roles that share the account)
	// before the next offer is made. A cell keeps accounts for ever. Where many frameworks
	// come and go, charge them to the account of their user.
	Account omega.Account

	// Machines are the machines that it can use, nil for all.
	Machines omega.Mask
	// Labels are attributes that a machine must have, with one of the values
	// given, or with any if none is.
	Labels map[string][]string
	// Constraints are further conditions on a machine, by its node number; nil for none. See
	// [locality.Attributes.Require]. The next [Master.Step] notices machines that have come
	// to meet them, or do not any more. Outstanding offers stay.
	//
	// Cost: as for other filters a bit for each machine when it is offered, if the framework
	// can use more than four machines and more than one in 64. A Step reads each 64 machines
	// once.
	Constraints *locality.Constraints
	// Minimum is the least that is of use to it, of all kinds.
	Minimum resources.Vector
	// Guaranteed is the minimum share: the amount that the framework can have whenever it
	// asks for it. It asks by a [Request] that may revoke what others hold beyond their own
	// guarantees. Up to that much of the framework's own tasks is never revoked. A kind with
	// 0 is not guaranteed.
	//
	// The guarantees of all frameworks together have to fit in the cell, as the master has
	// seen it. They stay if they do not fit any more after a loss of machines. Still no
	// framework loses what it is guaranteed, so requests may wait for room, and News.Short
	// tells the frameworks concerned.
	//
	// They also stay when a new master takes over. If the master has found tasks of a
	// framework in the cell, it accepts that framework's guarantee as it is registered,
	// whatever it has guaranteed to others by then. A framework without tasks there
	// registers as any new one.
	Guaranteed resources.Vector
	// Outstanding is the largest part of the cell, as a dominant share, that the framework
	// is offered before it answers. It gets no other offer while it has more. The part is
	// smaller for a framework that does not accept: see [Framework.Decline].
	//
	// 0 stands for a fair share. It is computed among the frameworks that want offers and
	// can use any of the machines, full or not. When a framework registers or revives, that
	// share becomes smaller. Then unread offers beyond it are rescinded, the latest first,
	// if the new framework can use them, and offered by the Order. Offers that were read
	// stay until they are answered.
	Outstanding float64

	// Suppressed registers the framework as after [Framework.Suppress]: until it revives it
	// is offered nothing but the answers to its [Request]s. It is for a framework that wants
	// gangs only, or is not ready yet.
	Suppressed bool

	// Long names its tasks that run for long, which a new master does not know. Tasks of
	// other frameworks are ignored.
	Long []omega.AllocationID

	// Failover is the time that its tasks and offers last while it is away; by default they
	// do not. See [Framework.Disconnect].
	Failover Span
	// Epoch numbers the callers that register the framework, one after the other. A standby
	// takes over with a higher Epoch than the last one. From then on the calls of the
	// replaced handle fail with [ErrFenced], also if its caller tries to register again.
	//
	// A caller that comes back needs an Epoch that is not lower than the last. A framework
	// that is never taken over leaves it 0. A new master learns the Epoch from the
	// registrations with it. The Epoch of a framework that has ended is forgotten.
	Epoch uint64

	// Notify, if not nil, is called once when there is news to be read, and not again until
	// they are read. There are two cases without news. First, a framework that has not
	// called for as long as an offer lasts is asked whether it is there: see
	// Config.Liveness. Second, another caller has taken the framework over, or it has ended
	// or is away, so News fails.
	//
	// The call of the master, or of any framework, that brings the news calls Notify before
	// it returns. Where several frameworks have news, it calls one after the other. So
	// Notify must not block: it would hold up that call, perhaps another framework's, and
	// the notifications after it.
	//
	// The mutex is free. But a call of the master or of a framework from within Notify may
	// call Notify again before it returns. So Notify should only wake the reader of the
	// news.
	//
	// If Notify panics, the other frameworks are notified, and then the call that brought
	// the news panics. What that call did stays done, but its results are lost.
	Notify func()
}

// complete fills in the defaults of a Registration.
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
		return fault.New("offers", "scheduler of framework", err, errName)
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
		return fmt.Errorf("%w: framework %q: outstanding offers of %v: want 0 to 1", errFraction, r.Name, r.Outstanding)
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
