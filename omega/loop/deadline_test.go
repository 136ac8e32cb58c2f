package loop_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// The order of Next is that of a stable sort by deadline, no deadline last, of the
// jobs that are in the order, in their order of arrival. Jobs leave and come back.
func TestByDeadline_AgreesWithASortedList(t *testing.T) {
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	rapid.Check(t, func(t *rapid.T) {
		l, err := loop.New(loop.Config[int]{Store: store})
		require.NoError(t, err)
		order := loop.ByDeadline[int]()
		var in, out []*loop.Pending[int]
		arrivals := 0
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				j := loop.Job[int]{Key: arrivals, Tasks: 1, Need: resources.Vector{1}}
				if s := rapid.IntRange(-1, 3).Draw(t, "deadline"); s >= 0 {
					// The same moment in two time zones is one deadline.
					zone := time.FixedZone("east", 3600*rapid.IntRange(0, 1).Draw(t, "zone"))
					j.Deadline = at(float64(s)).In(zone)
				}
				arrivals++
				p, err := l.Submit(epoch, j)
				require.NoError(t, err)
				order.Push(p)
				in = append(in, p)
			},
			"back": func(t *rapid.T) {
				if len(out) > 0 {
					i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
					order.Push(out[i])
					in, out = append(in, out[i]), slices.Delete(out, i, i+1)
				}
			},
			"next": func(t *rapid.T) {
				if len(in) == 0 {
					require.Nil(t, order.Next())
					return
				}
				slices.SortFunc(in, func(a, b *loop.Pending[int]) int {
					none := func(p *loop.Pending[int]) int {
						if p.Job().Deadline.IsZero() {
							return 1
						}
						return 0
					}
					return cmp.Or(none(a)-none(b), a.Job().Deadline.Compare(b.Job().Deadline), a.Job().Key-b.Job().Key)
				})
				require.Same(t, in[0], order.Next())
				in, out = in[1:], append(out, in[0])
			},
		})
	})
}

// Three jobs want the machine, one after the other. The loop goes by their deadlines.
func ExampleByDeadline() {
	_, s := exampleCell()
	start := time.Unix(0, 0)
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Order: loop.ByDeadline[string](),
		Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				fmt.Println(e.Pending.Job().Key)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	need := resources.Vector{1}
	_, _ = l.Submit(start, loop.Job[string]{Key: "whenever", Need: need, Tasks: 1})
	_, _ = l.Submit(start, loop.Job[string]{Key: "by noon", Need: need, Tasks: 1, Deadline: start.Add(12 * time.Hour)})
	_, _ = l.Submit(start, loop.Job[string]{Key: "by nine", Need: need, Tasks: 1, Deadline: start.Add(9 * time.Hour)})
	for range 3 {
		_, _, _ = l.Step(context.Background(), start)
	}
	// Output:
	// by nine
	// by noon
	// whenever
}
