package offers

import (
	"errors"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// New returns the master of a cell. If the cell had a master of the same name, New fences
// it, and room that it had offered is free again. Tasks go on. They wait for their
// frameworks to register again for as long as Config.Recovery.
//
// Cost: O(machines + allocations). Errors: [ErrEmpty] for a nil cell; [ErrConfig], [resources.ErrQuantity] for an invalid Config.
func New(cell *omega.Cell, cfg Config, now time.Time) (*Master, error) {
	if cell == nil {
		return nil, missing("cell is nil")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		cfg.Name = defaultName
	}
	if cfg.Order == nil {
		cfg.Order = DRF{}
	}
	if cfg.Roles == nil {
		cfg.Roles = DRF{}
	}
	cfg.Terms.Machines = slices.Clone(cfg.Terms.Machines)
	sched, err := enroll(cell, cfg.Name)
	if err != nil {
		return nil, fault.Newf("offers", err, "master %s", fault.Quote(cfg.Name))
	}
	c := &client{cell: cell, cfg: cfg, sched: sched, epoch: uint32(sched.Epoch()), now: now}
	if c.journaled, _ = sched.ReleaseLater(); c.journaled {
		c.entry = make(chan struct{}, 1)
	}
	m := newMaster(c)
	m.sessions.recover()
	for st := range sched.Snapshot().Machines() {
		m.see(st)
	}
	for _, n := range m.floor.nodes {
		n.known = false // nothing is offered before the next call
	}
	m.queue.stale = false
	m.next, _ = m.due()
	return m, nil
}

// enroll returns the scheduler of that name, a new one or a successor.
func enroll(cell *omega.Cell, name string) (*omega.Scheduler, error) {
	s, err := cell.Register(name, limits())
	if errors.Is(err, omega.ErrName) {
		return cell.Replace(name)
	}
	return s, err
}

// SetRoleWeight sets the weight of a role, from [drf.MinWeight] to [drf.MaxWeight]; it is
// 1 until then. Cost: O(frameworks). Errors: [ErrConfig].
func (m *Master) SetRoleWeight(name string, weight float64) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := checkWeight(weight); err != nil {
		return fault.Newf("offers", err, "role %s", fault.Quote(name))
	}
	if name != "" {
		if err := resources.CheckName(name); err != nil {
			return fault.New("offers", "role", err, errName)
		}
	}
	m.mu.Lock()
	defer m.unlock()
	r := m.queue.roleOf(name)
	r.weight = weight
	m.queue.rerank(r, false)
	m.queue.forgetRole(r)
	m.queue.reshare()
	return m.fenced
}

// SetTerms changes the [Terms] at run time. No framework loses anything: tasks stay, and
// so do offers until they are answered or expire, each as it was made. Room that is not
// offered any more is free for others at once.
//
// Cost: O(machines), and that of offering what there is. Errors: [ErrConfig],
// [ErrFenced].
func (m *Master) SetTerms(now time.Time, t Terms) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	t.Machines = slices.Clone(t.Machines)
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return err
	}
	m.cfg.Terms = t
	m.queue.rescale()
	for _, n := range m.floor.nodes {
		if !n.gone {
			m.floor.markDirty(n)
		}
	}
	m.replan(planRevocations)
	return m.fenced
}

// Replies returns the answers to the inverse offers of a machine, by framework in the
// order of registration. Frameworks that have ended are left out.
func (m *Master) Replies(machine omega.MachineID) []Reply {
	if m.none() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.floor.nodeOf(machine); n != nil {
		return slices.Clone(n.replies)
	}
	return nil
}

// Vacate asks the frameworks that have tasks on a machine to leave it by a time, and
// returns how many there are. With the zero time it takes the question back.
//
// A framework that is away is asked when it comes back, if that is before the time;
// otherwise it has not answered. Nothing follows from an answer, or from its absence.
// Tasks end with the machine, or when the time for their framework to come back is over.
//
// A framework that is offered the machine is told, too: see Offer.Leave. To keep new
// tasks from it, drain the machine: see [omega.Cell.Drain]. The next [Master.Step] then
// rescinds its offers.
//
// A second call forgets the answers to the first one, and the news of it that no
// framework has read yet. A successor of the master does not know which frameworks were
// asked.
//
// Cost: O(frameworks + allocations of the machine + unread inverse offers). Errors:
// [omega.ErrUnknown] for a machine that the master does not know, [ErrFenced].
func (m *Master) Vacate(now time.Time, machine omega.MachineID, by time.Time) (asked int, err error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return 0, err
	}
	n := m.floor.nodeOf(machine)
	if n == nil {
		return 0, fault.Newf("offers", omega.ErrUnknown, "vacate: machine %v", machine)
	}
	m.sessions.unask(n)
	n.leaveBy = by
	if by.IsZero() {
		return 0, nil
	}
	on := make(map[string][]omega.AllocationID)
	for _, a := range m.cell.AllocationsOn(machine) {
		on[a.Scheduler] = append(on[a.Scheduler], a.ID)
	}
	for _, f := range m.registry.order {
		tasks := on[m.cfg.Name+"/"+f.name]
		if len(tasks) == 0 {
			continue
		}
		n.replies = append(n.replies, Reply{Framework: f.name})
		if f.connected {
			f.news.Leave = append(f.news.Leave, Leave{machine, by, tasks})
			m.inbox.tell(f)
		}
	}
	return len(n.replies), nil
}
