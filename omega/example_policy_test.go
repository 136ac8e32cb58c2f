package omega_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// inRack picks the emptiest of k random machines of one rack.
type inRack struct {
	rack []locality.Node
	k    int
	rand *rand.Rand
}

// Pick implements omega.Policy.
func (p inRack) Pick(s *omega.Snapshot, q omega.Query) (best omega.MachineID, ok bool) {
	q.Among = func(yield func(locality.Node) bool) {
		for _, i := range p.rand.Perm(len(p.rack)) {
			if !yield(p.rack[i]) {
				return
			}
		}
	}
	left, most := p.k, int64(0)
	for m, free := range s.Fitting(q) {
		if !ok || free[0] > most {
			best, most, ok = m, free[0], true
		}
		if left--; left == 0 {
			break
		}
	}
	return best, ok
}

// A policy of the caller's own: the power of two choices within a rack.
func ExamplePolicy() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "a", Capacity: resources.Vector{8}},
		{Name: "b", Capacity: resources.Vector{8}},
		{Name: "c", Capacity: resources.Vector{8}},
	}})
	s, _ := cell.Register("s", omega.Limits{})
	policy := inRack{rack: []locality.Node{0, 1}, k: 2, rand: rand.New(rand.NewPCG(1, 2))}
	placed := s.Snapshot().Place(omega.Query{Need: resources.Vector{2}}, policy, 10, nil)
	for m := range s.Snapshot().Machines() {
		fmt.Printf("%s: %d free\n", m.Name, m.Free[0])
	}
	fmt.Println(placed, "placed")
	// Output:
	// a: 0 free
	// b: 0 free
	// c: 8 free
	// 8 placed
}
