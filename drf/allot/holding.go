package allot

import (
	"fmt"

	"github.com/cellsched/cellsched/drf/internal/check"
	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// Holding is one user's usage, demand and weight: the input of [Audit], [Envies]
// and [Preempt], which name users by index.
type Holding struct {
	// Usage is the amount that the user holds, in base units.
	Usage resources.Vector
	// Demand is the amount that the user's next task takes, in base units, or zero
	// if the user wants no more.
	Demand resources.Vector
	// Weight is the user's weight; 0 means 1.
	Weight float64
	// Weights are the user's weights by kind, as in [drf.Heap.SetWeights]. If they are
	// set, Weight plays no part.
	Weights *[resources.MaxKinds]float64
}

func checkHoldings(op string, users []Holding) error {
	for i := range users {
		if err := users[i].check(op, i); err != nil {
			return err
		}
	}
	return nil
}

func (u *Holding) check(op string, index int) error {
	name := func() string { return fmt.Sprintf("%s: user %d", op, index) }
	for k := range u.Usage {
		if w := u.weight(k); !check.ValidWeight(w) {
			return self.Weight(name(), w)
		}
	}
	if err := u.Usage.Check(); err != nil {
		return self.Refuse(err, "%s holds %v", name(), u.Usage)
	}
	if err := u.Demand.Check(); err != nil {
		return self.Refuse(err, "%s demands %v", name(), u.Demand)
	}
	return nil
}

func (u *Holding) weight(kind int) float64 {
	switch {
	case u.Weights != nil:
		return u.Weights[kind]
	case u.Weight == 0:
		return 1
	}
	return u.Weight
}

func (u *Holding) active() bool {
	return u.Usage != (resources.Vector{}) || u.Demand != (resources.Vector{})
}

// portion is a weighted share as a fraction, num/(total*weight), of a kind.
type portion struct {
	num, total int64
	weight     float64
	kind       resources.Kind
}

// portion returns the dominant share of usage in total, weighted for u. The lower
// kind wins a tie. If usage is zero it is a share of 0 of the first kind that total
// has.
func (u *Holding) portion(usage, total *resources.Vector) (largest portion) {
	for k := range usage {
		if total[k] == 0 {
			continue
		}
		p := portion{usage[k], total[k], u.weight(k), resources.Kind(k)}
		if largest.total == 0 || p.compare(largest) > 0 {
			largest = p
		}
	}
	return largest
}

func (p portion) compare(q portion) int {
	return fraction.Compare(p.num, p.total, p.weight, q.num, q.total, q.weight)
}
