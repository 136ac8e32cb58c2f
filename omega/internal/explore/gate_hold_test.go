//go:build explore

package explore_test

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega/internal/explore"
)

// held is one operation on the machine that is held.
type held struct {
	seat int
	op   string
	node uint32
}

// holds is the model of what is held at a gate whose seats are all alive: its
// state is the last that held, of which node is zero where none does.
var holds = porcupine.Model{
	Init: func() any { return held{} },
	Step: func(state, input, output any) (bool, any) {
		now, in := state.(held), input.(held)
		mine := now.node == 0 || now.seat == in.seat
		switch in.op {
		case "hold":
			if mine {
				return output == true, held{seat: in.seat, node: in.node}
			}
			return output == false, now
		case "let go":
			if mine {
				return true, held{}
			}
			return true, now
		}
		if mine {
			return output == uint32(0), now
		}
		return output == now.node, now
	},
}

// One seat holds a machine at a time, and the others are told which it is.
func TestGate_HoldsAreLinearizable(t *testing.T) {
	hold := func(seat int, node uint32) held { return held{seat, "hold", node} }
	letGo := func(seat int) held { return held{seat, "let go", 0} }
	barred := func(seat int) held { return held{seat, "barred", 0} }
	tests := map[string]struct {
		preemptions int
		threads     [][]held
	}{
		"two that hold":               {3, [][]held{{hold(0, 1)}, {hold(1, 2)}}},
		"two that hold and let go":    {3, [][]held{{hold(0, 1), letGo(0), hold(0, 3)}, {hold(1, 2), letGo(1)}}},
		"two that hold, and a third":  {3, [][]held{{hold(0, 1), letGo(0)}, {hold(1, 2), letGo(1)}, {barred(2), barred(2)}}},
		"three that hold":             {2, [][]held{{hold(0, 1), letGo(0)}, {hold(1, 2), letGo(1)}, {hold(2, 3), barred(2)}}},
		"one that holds another":      {3, [][]held{{hold(0, 1), hold(0, 2)}, {hold(1, 3), barred(1)}}},
		"one after one that has died": {3, [][]held{{hold(0, 1), barred(0)}, {hold(1, 2), barred(1)}, {letGo(3)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			exploreGate(t, 4, tt.preemptions, func(r *explore.Run, _ *drf.Gate, seats []*drf.Seat) {
				dead := seats[3]
				begins(dead, 1)
				dead.Hold(9, at(0))
				now := at(patience.Milliseconds() + 1)
				for _, s := range seats[:3] {
					asks(s, 1, now)
				}
				for i, ops := range tt.threads {
					r.Go(string(rune('a'+i)), func() {
						for _, op := range ops {
							s := seats[op.seat]
							r.Do(op, func() any {
								switch op.op {
								case "hold":
									return s.Hold(op.node, now)
								case "let go":
									s.LetGo()
									return nil
								}
								node, _ := s.Barred(now)
								return node
							})
						}
					})
				}
				r.Check(func() error {
					ops := make([]porcupine.Operation, len(r.History()))
					for i, op := range r.History() {
						ops[i] = porcupine.Operation{ClientId: op.Thread, Input: op.Input, Output: op.Output, Call: op.Call, Return: op.Return}
					}
					if !porcupine.CheckOperations(holds, ops) {
						return fmt.Errorf("not linearizable: %+v", r.History())
					}
					return nil
				})
			})
		})
	}
}
