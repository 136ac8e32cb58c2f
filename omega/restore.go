package omega

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/internal/frames"
	"github.com/cellsched/cellsched/resources"
)

// The errors of Restore.
var (
	// ErrDamaged: the data is no saved cell, or differs from the saved one.
	ErrDamaged = frames.ErrDamaged
	// ErrVersion: the cell was saved in a format that this version of the
	// package does not know.
	ErrVersion = frames.ErrVersion
	// ErrSpace: the cell was saved with resources of other names or units.
	ErrSpace = errors.New("omega: saved cell has another space")
)

// Restore returns the cell that [Cell.Save] wrote to r, which it reads to the end. IDs of
// machines, allocations and accounts are good in the new cell, and marks stand as they
// did. Schedulers and snapshots are not: [Cell.Replace] returns the successor of each
// scheduler. Forget IDs that were given out after the save, since the restored cell may
// use them again.
//
// The saved resources must be those of space by name, unit and order; a nil space takes
// them as they are. Times come back in UTC.
//
// Input is not trusted: for any bytes the new cell keeps all invariants, or there is an
// error and no cell. Forged input can make a machine take 4 MiB for its slots. Cost:
// O(machines + allocations + marks). Errors: [ErrDamaged] with the place, the finding and
// the expectation; [ErrVersion]; [ErrSpace]; those of r.
func Restore(r io.Reader, space *resources.Space) (*Cell, error) {
	if r == nil {
		return nil, absent("reader")
	}
	d := &restorer{Reader: frames.NewReader(r), used: make(map[*tally]*resources.Vector)}
	tag := d.Below(tagMask+1, "tag of the cell")
	d.space(space)
	if d.Err != nil {
		return nil, d.Err
	}
	cell, err := NewCell(Config{Space: d.named})
	if err != nil {
		return nil, err
	}
	d.cell, cell.tag = cell, uint32(tag)
	d.accounts()
	d.schedulers()
	if d.Version == frames.Journaled {
		d.handles()
	}
	d.machines()
	d.spare()
	d.marks()
	d.leavers()
	if d.Version >= frames.Reserving {
		d.reservations()
	}
	d.End()
	if d.Err != nil {
		return nil, d.Err
	}
	return cell, nil
}

// restorer reads a cell, in the order of [saver].
type restorer struct {
	frames.Reader
	cell   *Cell
	named  *resources.Space
	owners []*owner // by number, from 1
	spares int      // numbers of removed machines that can be given out again
	recent [recentRecords]*restored
	left   []AllocationID // that other allocations wait for

	// used are the sums of the allocations by tally. They fit, as the sum of all
	// capacities does.
	used map[*tally]*resources.Vector
}

func (d *restorer) space(want *resources.Space) {
	dims := make([]resources.Dimension, d.Below(resources.MaxKinds+1, "number of resources"))
	for k := range dims {
		dims[k] = resources.Dimension{Name: d.Text(), PerUnit: int64(d.Uvarint()), Binary: d.Bool("binary")}
	}
	if d.Err != nil {
		return
	}
	if len(dims) > 0 {
		var err error
		if d.named, err = resources.NewSpace(dims...); err != nil {
			d.Damaged("%s", fault.Bare(err))
			return
		}
	}
	if want == nil {
		return
	}
	if want.Kinds() != len(dims) {
		d.Err = fmt.Errorf("%w: %d resources, want %d", ErrSpace, len(dims), want.Kinds())
		return
	}
	for k := range dims {
		got, _ := d.named.Dimension(resources.Kind(k))
		w, _ := want.Dimension(resources.Kind(k))
		if got.Name != w.Name || got.PerUnit != w.PerUnit {
			d.Err = fmt.Errorf("%w: resource %d is %q in units of %d, want %q in units of %d",
				ErrSpace, k, got.Name, got.PerUnit, w.Name, w.PerUnit)
			return
		}
	}
	d.named = want
}

// name refuses what is no name of a thing of this kind.
func (d *restorer) name(kind, name string) {
	if err := resources.CheckName(name); err != nil {
		d.Damaged("%s: %s", kind, fault.Bare(err))
	}
}

func (d *restorer) accounts() {
	for n := d.Below(math.MaxUint32, "number of accounts"); n > 0; n-- {
		name := d.Text()
		d.name("account", name)
		if _, taken := d.cell.accounts.Load(name); taken {
			d.Damaged("account %q, want a name that is not taken", name)
		}
		if d.Err != nil {
			return
		}
		d.cell.account(name)
	}
}

func (d *restorer) schedulers() {
	for n := d.Below(maxSchedulers+1, "number of schedulers"); n > 0; n-- {
		name, epoch := d.Text(), d.Below(math.MaxInt64, "epoch")
		jobs := d.Below(math.MaxInt64, "number of jobs admitted")
		limits := d.limits()
		d.name("scheduler", name)
		if d.cell.owners[name] != nil {
			d.Damaged("scheduler %q, want a name that is not taken", name)
		}
		if err := limits.check(name); err != nil {
			d.Damaged("%s", fault.Bare(err))
		}
		if limits.Jobs > 0 && jobs > uint64(limits.Jobs) {
			d.Damaged("scheduler %q: %d jobs admitted, want at most %d", name, jobs, limits.Jobs)
		}
		if d.Err != nil {
			return
		}
		o := d.cell.enroll(name, limits)
		o.epoch.Store(epoch)
		o.jobs.Store(&admitted{n: int64(jobs)})
		d.owners = append(d.owners, o)
	}
}

// handles reads the numbers of schedulers, and the schedulers that they work under.
func (d *restorer) handles() {
	enrolled, last := d.Uvarint(), uint64(0)
	for _, o := range d.owners {
		if o.num = d.Uvarint(); o.num <= last || o.num > enrolled {
			d.Damaged("scheduler %q has number %d, want more than %d and at most %d", o.name, o.num, last, enrolled)
		}
		last = o.num
		if o.chief = d.owner("scheduler that another works under"); o.chief != nil {
			o.chiefEpoch = d.Below(o.chief.epoch.Load()+1, "epoch of a scheduler that another works under")
		}
		for at := o.chief; at != nil && d.Err == nil; at = at.chief {
			if at == o {
				d.Damaged("scheduler %q works under itself, want that it does not", o.name)
			}
		}
	}
	d.cell.enrolled = enrolled
}

func (d *restorer) limits() (l Limits) {
	flags := d.Below(saveHeld+saveDivisible+1, "flags of its limits")
	l.Divisible = flags&saveDivisible != 0
	if flags&saveHeld != 0 {
		held := d.Vector("what it may hold")
		l.Held = &held
	}
	l.Jobs = int(d.Below(math.MaxInt, "limit of jobs"))
	l.Gang = int(d.Below(math.MaxInt, "limit of a gang"))
	l.Lowest, l.Highest = d.precedence(), d.precedence()
	if d.Bool("whether it has a mask") {
		l.Machines = Mask{}
		for n := d.Uvarint(); n > 0 && d.Err == nil; n-- {
			l.Machines = append(l.Machines, d.Uvarint())
		}
	}
	return l
}

func (d *restorer) precedence() Precedence {
	p := d.Varint()
	if p != int64(int32(p)) {
		d.Damaged("precedence is %d, want one of 32 bits", p)
		return 0
	}
	return Precedence(p)
}

// owner reads the number of an owner and returns nil for 0.
func (d *restorer) owner(what string) *owner {
	if n := d.Below(uint64(len(d.owners))+1, what); n > 0 {
		return d.owners[n-1]
	}
	return nil
}
