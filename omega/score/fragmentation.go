package score

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Class is a sort of task that is expected in the future.
type Class struct {
	// Need is the need of one such task. Devices are interchangeable: where each has a
	// kind of its own, a task that wants two devices names any two, with equal
	// amounts.
	Need resources.Vector

	// Popularity is how common the class is among all: a share, or a count of
	// tasks seen.
	Popularity float64
}

// Fragmentation measures how much of a machine's idle devices the tasks to come
// cannot use, and scores placements by how little they add to that.
//
// It is immutable and safe for concurrent use. Create one with
// [NewFragmentation]; the zero Fragmentation knows no classes and finds no
// fragmentation. Weng et al., USENIX ATC 2023.
type Fragmentation struct {
	devices []resources.Kind
	classes []class
}

// A class asks for count devices, of each an amount of share, and for rest of
// the other kinds. Count and share are 0 if it wants no device.
type class struct {
	rest       resources.Vector
	share      int64
	count      int
	popularity float64 // of all classes together, 1
}

// NewFragmentation returns a measure of the fragmentation of devices for a mix
// of classes. Arguments are copied.
//
// devices are the kinds whose idle amounts may be stranded, such as GPUs in
// thousandths. Where each of a machine's devices has a kind of its own, the measure is
// the paper's. One kind that holds the sum over a machine's devices will do. But it
// does not see that an amount is split among several: half of each of two GPUs then
// passes for a whole one.
//
// Popularities are taken relative to their sum. For a class that asks for no device all
// that is idle counts as stranded, as in the paper's simulator. That is the same for
// every machine a task is tried on, and changes no order.
//
// Errors:
//
//   - no devices, or one named twice or outside [0, resources.MaxKinds) (wraps
//     [resources.ErrKind]);
//   - no classes;
//   - a need that is invalid (wraps [resources.ErrQuantity]) or asks for unequal
//     amounts of devices;
//   - a popularity that is negative or not finite, or a sum of them that is 0 or not
//     finite.
func NewFragmentation(devices []resources.Kind, classes []Class) (*Fragmentation, error) {
	if len(devices) == 0 {
		return nil, errors.New("score: fragmentation: no devices, want at least one kind")
	}
	for i, k := range devices {
		if k >= resources.MaxKinds || slices.Contains(devices[:i], k) {
			return nil, fault.Newf("score", resources.ErrKind, "fragmentation: devices[%d] is %d, want distinct kinds below %d", i, k, resources.MaxKinds)
		}
	}
	f := &Fragmentation{slices.Clone(devices), make([]class, len(classes))}
	var total float64
	for i, c := range classes {
		if !(c.Popularity >= 0) || math.IsInf(c.Popularity, 1) {
			return nil, fmt.Errorf("score: fragmentation: classes[%d].Popularity is %v, want 0 or more", i, c.Popularity)
		}
		var err error
		if f.classes[i], err = f.split(c.Need); err != nil {
			return nil, fault.Newf("score", err, "fragmentation: classes[%d].Need", i)
		}
		total += c.Popularity
	}
	if total == 0 || math.IsInf(total, 1) {
		return nil, fmt.Errorf("score: fragmentation: popularities of %d classes add up to %v, want a number above 0", len(classes), total)
	}
	for i, c := range classes {
		f.classes[i].popularity = c.Popularity / total
	}
	return f, nil
}

// split tells devices from the rest of a need.
func (f *Fragmentation) split(need resources.Vector) (class, error) {
	if err := need.Check(); err != nil {
		return class{}, err
	}
	c := class{rest: need}
	for _, k := range f.devices {
		c.rest[k] = 0
		if need[k] == 0 {
			continue
		}
		if c.count > 0 && need[k] != c.share {
			return class{}, fmt.Errorf("%d of one device and %d of another, want the same", c.share, need[k])
		}
		c.share = need[k]
		c.count++
	}
	return c, nil
}

// Amount is the expected amount of idle devices on a machine with that much free that a
// task to come cannot use. It is in the devices' base unit: F in the paper.
//
// For a class that does not fit, the amount is the whole idle amount. For another class
// it is the idle amount of the devices that have less than the class wants of one. The
// mean is over the classes by popularity. Divided by the idle amount, it is the
// machine's fragmentation rate. It allocates nothing. Cost: O(classes · (kinds +
// devices)).
func (f *Fragmentation) Amount(free *resources.Vector) float64 {
	if f == nil {
		return 0
	}
	if free == nil {
		return f.Amount(some(free))
	}
	idle := f.idle(free)
	var sum float64
	for i := range f.classes {
		c := &f.classes[i]
		sum += c.popularity * c.stranded(f.devices, free, idle)
	}
	return sum
}

// FGD scores a placement by the fragmentation that it takes away, in the
// devices' base unit; below 0 if it adds some. As a method value it is a
// [Func].
//
// The paper places each task where fragmentation grows least. Its simulator
// puts the same number through a rising function of range 0 to 100 and drops
// the fraction, which makes ties that are none here. Where devices have kinds of
// their own, need names the devices that the task gets; call FGD for each choice to
// find the best one. Cost: two calls of [Fragmentation.Amount], no allocation.
func (f *Fragmentation) FGD(need, free, _ *resources.Vector) float64 {
	if f == nil {
		return 0
	}
	if need == nil || free == nil {
		return f.FGD(some(need), some(free), nil)
	}
	after := *free
	for k, n := range need {
		after[k] -= n
	}
	idle, idleAfter := f.idle(free), f.idle(&after)
	var sum float64
	for i := range f.classes {
		c := &f.classes[i]
		before := c.stranded(f.devices, free, idle)
		if before == idle { // it can use nothing now, and no more with less free
			sum += c.popularity * (idle - idleAfter)
			continue
		}
		sum += c.popularity * (before - c.stranded(f.devices, &after, idleAfter))
	}
	return sum
}

// idle is how much of all devices is free. Their sum may not fit in an int64.
func (f *Fragmentation) idle(free *resources.Vector) (sum float64) {
	for _, k := range f.devices {
		sum += float64(free[k])
	}
	return sum
}

// stranded returns the part of the idle amount that c cannot use.
func (c *class) stranded(devices []resources.Kind, free *resources.Vector, idle float64) float64 {
	if c.count == 0 || !resources.Fits(&c.rest, free) {
		return idle
	}
	var small float64
	enough := 0
	for _, k := range devices {
		if free[k] < c.share {
			small += float64(free[k])
		} else {
			enough++
		}
	}
	if enough < c.count {
		return idle
	}
	return small
}
