package pool

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// The conditions of this package. A call that fails with one of them holds
// nothing.
var (
	// ErrNeed reports a need of nothing, one that no machine could meet even if it
	// were empty, one above a limit, or a lease that is to grow.
	ErrNeed = errors.New("pool: need can never be met")
	// ErrNested reports a request with the context of a lease that could only be
	// granted by releasing that lease. Such an error is an ErrNeed, too.
	ErrNested = errors.New("pool: request waits for a lease of its own caller")
	// ErrQueueFull reports that a tenant has as many waiters as its Queue allows.
	ErrQueueFull = errors.New("pool: queue of the tenant is full")
	// ErrWait reports that a request waited for as long as its tenant or itself
	// allows.
	ErrWait = errors.New("pool: maximum wait exceeded")
	// ErrRun is the cause with which the context of a task ends when it has run
	// for as long as its tenant allows.
	ErrRun = errors.New("pool: maximum run time exceeded")
	// ErrClosed reports that the pool was closed.
	ErrClosed = errors.New("pool: pool is closed")
	// ErrPreempted is the cause with which the context of a lease ends when a
	// guarantee of another tenant takes the room back. It is the error of work that
	// fails afterwards, too.
	ErrPreempted = errors.New("pool: lease is preempted")
	// ErrReleased reports a lease that was released before, or the zero Lease.
	ErrReleased = errors.New("pool: lease is already released")
	// ErrConfig reports a configuration or settings that cannot be used.
	ErrConfig = errors.New("pool: invalid configuration")
	// ErrMachine reports a machine that the pool does not have, or a name that
	// another machine has.
	ErrMachine = errors.New("pool: unknown or duplicate machine")
	// ErrMachineInUse reports the removal of a machine that has leases. Such an error
	// is an ErrMachine, too.
	ErrMachineInUse = errors.New("pool: machine is in use")
	// ErrTenant reports a tenant that a call does not apply to: a group that is to
	// acquire, a tenant with leases that is to become a group, or a bad name.
	ErrTenant = errors.New("pool: invalid tenant")
)

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return fault.New("pool", argument, resources.ErrNil) }
