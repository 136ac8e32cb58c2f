package offers

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers/internal/line"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// standings is a walk of a line by places.
func standings[T any](l *line.Line[T]) iter.Seq2[line.Standing, *T] {
	return func(yield func(line.Standing, *T) bool) {
		for ahead := l.Ahead(); len(ahead) > 0; {
			s := ahead[0]
			ahead = l.Behind(ahead)
			if !yield(s, l.Member(s)) {
				return
			}
		}
	}
}

// waits checks where each framework waits, for the machines that it can use. It waits in
// the line of its role and class if they are many, in lists of theirs if they are few.
func (m *Master) waits(t require.TestingT) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stands := map[*member]int{}
	for s, r := range standings(&m.queue.roles) {
		require.Equal(t, r.Place, s.Place)
		require.Same(t, r, m.queue.byRole[r.name])
		for c := range r.lines {
			l := &r.lines[c]
			last := line.Place{Rank: math.Inf(-1)}
			for s, f := range standings(l) {
				require.Equal(t, [2]any{r.name, c}, [2]any{f.role.name, int(f.refusalClass)})
				if !f.account.moved && len(m.accounts.moved) == 0 {
					require.Equal(t, f.Place, s.Place)
					require.True(t, last.Before(&s.Place))
					last = s.Place
				}
				stands[f]++
			}
		}
	}
	for _, f := range m.registry.order {
		want := 0
		if f.queued && !f.selective {
			want = 1
		}
		require.Equal(t, want, stands[f], "%s in line", f.name)
		delete(stands, f)
		count := 0
		for _, n := range m.floor.nodes {
			uses := f.sched != nil && !n.gone && f.suits(n) && resources.Fits(&f.reg.Minimum, &n.capacity)
			if f.noMachines {
				require.False(t, uses, "%s is useless", f.name)
			}
			if !n.gone && f.sched != nil && !f.noMachines {
				require.Equal(t, uses, f.uses.Has(locality.Node(n.number)), "%s uses %d", f.name, n.number)
			}
			times := 0
			for _, one := range n.waiting() {
				if one == f {
					times++
				}
			}
			if uses {
				count++
			}
			if f.selective && uses {
				require.Equal(t, 1, times, "%s waits at %d", f.name, n.number)
			} else {
				require.Zero(t, times, "%s waits at %d", f.name, n.number)
			}
		}
		if f.sched != nil && f.fits != nil {
			require.Equal(t, count <= max(selectiveMachines, len(m.floor.nodes)/selectiveFraction), f.selective, "%s can use %d of %d", f.name, count, len(m.floor.nodes))
		}
		if f.fits == nil {
			require.False(t, f.selective)
		}
	}
	require.Empty(t, stands)
	for _, n := range m.floor.nodes {
		for _, f := range n.waiting() {
			require.True(t, slices.Contains(m.registry.order, f), "%s is gone", f.name)
		}
	}
}

// Whichever machines come, go and change, frameworks wait where they can use the offered
// room, and only there.
func TestOrder_EachFrameworkIsInOneLine(t *testing.T) {
	begin := time.Unix(1000, 0)
	rapid.Check(t, func(rt *rapid.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(rt, err)
		var attributes locality.Attributes
		gpu, err := attributes.Register(locality.Exists("gpu"))
		require.NoError(rt, err)
		gpus, err := attributes.Require(gpu)
		require.NoError(rt, err)
		var machines []omega.MachineID
		add := func(i int) {
			id, err := cell.Add(omega.Machine{
				Name: fmt.Sprint("m", i), Capacity: resources.Vector{rapid.Int64Range(0, 4).Draw(rt, "capacity")},
				Attributes: map[string]string{"a": fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "attribute"))},
			})
			require.NoError(rt, err)
			machines = append(machines, id)
		}
		next := rapid.SampledFrom([]int{0, 3, 10, 330}).Draw(rt, "machines")
		for i := range next {
			add(i)
		}
		terms := Terms{Optimistic: rapid.Bool().Draw(rt, "optimistic")}
		m, err := New(cell, Config{Terms: terms, Timeout: For(3 * time.Second)}, begin)
		require.NoError(rt, err)
		now := begin
		handles := map[string]*Framework{}
		for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(rt, "later")) * time.Millisecond)
			name := fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "framework"))
			h := handles[name]
			switch rapid.SampledFrom([]string{"register", "register", "decline", "accept", "step", "step", "add", "remove", "unregister", "disconnect", "suppress", "revive", "drain", "gpu", "gpu"}).Draw(rt, "action") {
			case "register":
				r := Registration{Name: name, Epoch: uint64(step + 1), Role: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "role"), Failover: For(2 * time.Second)}
				switch rapid.IntRange(0, 5).Draw(rt, "filters") {
				case 1:
					r.Machines = omega.Mask(rapid.SliceOfN(rapid.Uint64(), 0, 7).Draw(rt, "mask"))
				case 2:
					r.Labels = map[string][]string{"a": {fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "label"))}}
				case 3:
					r.Minimum = resources.Vector{rapid.Int64Range(0, 5).Draw(rt, "minimum")}
				case 4:
					r.Machines = omega.Mask{1 << rapid.IntRange(0, 63).Draw(rt, "bit"), 1}
				}
				if rapid.Bool().Draw(rt, "constrained") {
					r.Constraints = gpus
				}
				if rapid.Bool().Draw(rt, "shared") {
					r.Account, err = cell.Account(t.Context(), "shared")
					require.NoError(t, err)
				}
				if handles[name], err = m.Register(now, r); err != nil {
					require.NoError(rt, err)
				}
			case "accept", "decline":
				if h == nil {
					break
				}
				news, err := h.News(now)
				if err != nil {
					break
				}
				for i, o := range news.Offers {
					if i%2 == 0 {
						_ = h.Decline(now, For(time.Second), o.ID)
					} else if o.Room[0] > 0 {
						_, _ = h.Accept(now, Launch{Offers: []OfferID{o.ID}, Tasks: []Task{{Need: resources.Vector{1}}}})
					}
				}
			case "step":
				require.NoError(rt, m.Step(now))
			case "gpu":
				n := locality.Node(rapid.IntRange(0, next+1).Draw(rt, "node"))
				var has map[string]locality.Value
				if rapid.IntRange(0, 2).Draw(rt, "has") > 0 {
					has = map[string]locality.Value{"gpu": locality.Number(1)}
				}
				require.NoError(rt, attributes.Describe(n, has))
			case "add":
				add(next)
				next++
			case "remove":
				if len(machines) > 0 {
					k := rapid.IntRange(0, len(machines)-1).Draw(rt, "machine")
					_, err := cell.Remove(machines[k])
					require.NoError(rt, err)
					machines = slices.Delete(machines, k, k+1)
				}
			case "drain":
				if len(machines) > 0 {
					_ = cell.Drain(machines[rapid.IntRange(0, len(machines)-1).Draw(rt, "machine")])
				}
			case "unregister":
				if h != nil {
					_ = h.Unregister(now)
				}
			case "disconnect":
				if h != nil {
					_ = h.Disconnect(now)
				}
			case "suppress":
				if h != nil {
					_ = h.Suppress(now)
				}
			case "revive":
				if h != nil {
					_ = h.Revive(now)
				}
			}
			m.waits(rt)
		}
	})
}
