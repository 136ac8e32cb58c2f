package federation

import (
	"encoding/json"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Message is one message between masters. From and To are names of masters; the rest is
// for the receiver.
//
// A Message is immutable, and may be delivered any number of times, at any time, or not
// at all. It is safe for concurrent use. Between processes it travels as JSON.
type Message struct {
	From, To string
	ask      *ask
	tell     *tell
}

// ask is sent by a global master.
type ask struct {
	Epoch uint64 // of the global master, from 1
	// Incarnation is the receiving verifier's; 0 asks for its list.
	Incarnation uint64   `json:",omitempty"`
	Number      uint64   `json:",omitempty"` // of the batch, 0 for none
	Settled     uint64   `json:",omitempty"` // no batch up to this number is sent again
	Heard       []uint64 `json:",omitempty"` // notices that were followed
	Launches    []launch `json:",omitempty"`
}

// launch asks for the start of a task.
type launch struct {
	Task       Task
	User       string
	Machine    omega.MachineID
	Need       resources.Vector
	Precedence omega.Precedence
	// Described is the report's number of the attributes that meet the requirements of the
	// task; 0 without requirements.
	Described uint64 `json:",omitempty"`
	// Seek, if not nil, asks for any machine, with victims where none has room. Machine
	// is zero then.
	Seek *seek `json:",omitempty"`
	// Gang is the same for neighbours that are granted together; 0 for a lone task.
	Gang int `json:",omitempty"`
}

// seek permits the launch of a task that fits on no machine to preempt: allocations of
// lower precedence, and allocations of users above their fair share.
type seek struct {
	Grace time.Duration
	// Among are the machines that meet the requirements of the task, nil for all. An empty
	// mask is none, so it is not left out.
	Among omega.Mask
	// Described has the numbers of the attributes of machines in Among, except 1.
	Described map[int]uint64 `json:",omitempty"`
	// Total is the capacity of the other cells, and Users have their usage there; without
	// users only precedence counts.
	Total resources.Vector
	Users []stake `json:",omitempty"`
}

// stake is the usage of a user.
type stake struct {
	User   string
	Usage  resources.Vector
	Weight float64 `json:",omitempty"`
}

// tell is sent by a verifier.
type tell struct {
	Epoch       uint64 // of the global master that it serves, 0 before it has heard of one
	Incarnation uint64
	Listed      bool     `json:",omitempty"` // List is all tasks that it knows of
	List        []Event  `json:",omitempty"`
	Noticed     uint64   `json:",omitempty"` // with a list: notices up to this one are in it
	Answers     []answer `json:",omitempty"`
	Notices     []notice `json:",omitempty"`
	Machines    []report `json:",omitempty"`
	Blocks      []*block `json:",omitempty"`
	Full        bool     `json:",omitempty"` // the last piece of a heartbeat
	Usage       []stake  `json:",omitempty"` // of all users of the cell, in the last piece
}

// answer is the outcome of the launches of a batch, in their order.
type answer struct {
	Number  uint64
	Granted []omega.AllocationID // the zero ID where refused
	// Why has the reason of each refusal.
	Why []int `json:",omitempty"`
}

// The reasons of an answer that refuses a launch.
const (
	refusedRoom       = iota // the machine had no room, or takes no claims
	refusedGang              // another launch of its gang was refused
	refusedMachine           // the machine may look free
	refusedJob               // no machine of the cell would do: a limit, or the precedence
	refusedAttributes        // the attributes of the machine have changed since
)

// notice tells of a task that has ended or was returned.
type notice struct {
	Number uint64
	Event  Event
}

// report is the state of a machine.
type report struct {
	ID         omega.MachineID
	Seq        uint64 // rises with every change of the node
	Ready      bool   // takes claims
	Internal   bool   // of the receiver's partition
	Free       resources.Vector
	Capacity   resources.Vector
	Attributes map[string]string `json:",omitempty"`
	// Described is the number of the attributes: it rises from 1 with each change of them,
	// and with each machine that takes the node. Numbers are the verifier's own.
	Described uint64 `json:",omitempty"`
}

// block is the state of up to 64 machines with consecutive numbers. It is immutable, so
// heartbeats share the blocks that did not change.
type block struct {
	First    int
	Stamp    uint64 // the sum of all Seq: it rises with every change
	Machines []report
}

const blockSize = 64

// wire is a Message for people and other processes.
type wire struct {
	From string
	To   string
	Ask  *ask  `json:",omitempty"`
	Tell *tell `json:",omitempty"`
}

// MarshalJSON returns the message as JSON.
func (m Message) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{m.From, m.To, m.ask, m.tell})
}

// UnmarshalJSON reads what MarshalJSON writes. Input is not trusted: its values are
// checked here and where the message is received. Errors: [ErrInvalid], and those of
// encoding/json; m stays as it was.
func (m *Message) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return fault.New("federation", "message", err, ErrInvalid)
	}
	read := Message{w.From, w.To, w.Ask, w.Tell}
	if err := read.check(); err != nil {
		return err
	}
	*m = read
	return nil
}

// check verifies the properties that the handlers of a message rely on.
func (m *Message) check() error {
	switch {
	case (m.ask == nil) == (m.tell == nil):
		return invalid("message from %s: want either a request or a report", fault.Quote(m.From))
	case m.ask != nil:
		return m.ask.check(m.From)
	default:
		return m.tell.check(m.From)
	}
}

func (a *ask) check(from string) error {
	if a.Epoch == 0 {
		return invalid("request from %s: epoch 0, want 1 or more", fault.Quote(from))
	}
	if a.Number == 0 && len(a.Launches) > 0 {
		return invalid("request from %s: %d launches in a batch without a number", fault.Quote(from), len(a.Launches))
	}
	if a.Number != 0 && a.Settled >= a.Number {
		return invalid("request from %s: batch %d, and batches up to %d are settled: want a later batch", fault.Quote(from), a.Number, a.Settled)
	}
	tasks := make(map[Task]struct{}, len(a.Launches))
	for i := range a.Launches {
		l := &a.Launches[i]
		if l.Task.Index < 0 || l.Task.Index >= maxTasks || l.Gang < 0 {
			return invalid("request from %s: task %v of gang %d, want numbers from 0 up", fault.Quote(from), l.Task, l.Gang)
		}
		if tasks[l.Task] = struct{}{}; len(tasks) == i {
			return invalid("request from %s: two launches of task %v, want one", fault.Quote(from), l.Task)
		}
	}
	return nil
}

func (t *tell) check(from string) error {
	if t.Incarnation == 0 {
		return invalid("report from %s: incarnation 0, want 1 or more", fault.Quote(from))
	}
	for _, e := range t.List {
		if e.Kind != Started && e.Kind != Ended {
			return invalid("report from %s: list with task %v that is %v, want started or ended", fault.Quote(from), e.Task, e.Kind)
		}
	}
	for _, n := range t.Notices {
		if n.Event.Kind != Ended && n.Event.Kind != Returned {
			return invalid("report from %s: notice of task %v that is %v, want ended or returned", fault.Quote(from), n.Event.Task, n.Event.Kind)
		}
	}
	for i := range t.Machines {
		if err := t.Machines[i].check(from); err != nil {
			return err
		}
	}
	for i := range t.Answers {
		if a := &t.Answers[i]; len(a.Why) != 0 && len(a.Why) != len(a.Granted) {
			return invalid("report from %s: answer %d has %d reasons for %d launches", fault.Quote(from), a.Number, len(a.Why), len(a.Granted))
		}
	}
	for _, b := range t.Blocks {
		if b == nil || b.First < 0 || b.First >= locality.MaxNodes || b.First%blockSize != 0 || len(b.Machines) > blockSize {
			return invalid("report from %s: want blocks of up to %d machines, from a multiple of it on", fault.Quote(from), blockSize)
		}
		for i := range b.Machines {
			r := &b.Machines[i]
			if err := r.check(from); err != nil {
				return err
			}
			if r.ID != 0 && int(r.ID.Node()) != b.First+i {
				return invalid("report from %s: machine %v in the place of number %d", fault.Quote(from), r.ID, b.First+i)
			}
		}
	}
	return nil
}

func (r *report) check(from string) error {
	for _, v := range []*resources.Vector{&r.Free, &r.Capacity} {
		if err := v.Check(); err != nil {
			return fault.New("federation", "report from "+fault.Quote(from), err, ErrInvalid)
		}
	}
	if r.ID.Node() >= locality.MaxNodes {
		return invalid("report from %s: machine %v, want a number below %d", fault.Quote(from), r.ID, locality.MaxNodes)
	}
	return nil
}
