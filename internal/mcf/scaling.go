package mcf

import (
	"context"
	"math"

	"github.com/cellsched/cellsched/internal/fault"
)

// Solution is a flow of least cost.
type Solution struct {
	Cost int64
	Flow []int64 // by arc of the graph
	// Price, by node, proves it: see [Graph.Verify].
	Price []int64
}

// farthest is how far prices may be from 0: their sums with a cost, and the
// difference of two, do not overflow.
const farthest = 1 << 61

func errFar(v int32) error {
	return fault.Newf("quincy", ErrRange, "node %d: costs along ways to it, times nodes, beyond 2^61", v+1)
}

// shrink is by how much the error allowed falls from one phase to the next.
const shrink = 12

// Solve returns a flow of least cost.
//
// Time is O(nodes² arcs log(nodes cost)) at worst and far less in practice;
// memory is about 50 bytes for an arc. The context is looked at every few
// milliseconds, and its cause returned when it is cancelled. Costs times nodes
// beyond 2^58 are an error, and so are graphs in which the costs along a way,
// times nodes, add up to more than 2^61.
func (g *Graph) Solve(ctx context.Context) (Solution, error) {
	if err := g.Check(); err != nil {
		return Solution{}, err
	}
	s, err := newState(ctx, g)
	if err != nil {
		return Solution{}, err
	}
	// Costs are times nodes+1. So a flow with all arcs within 1 of optimal has no
	// negative cycle: it is optimal.
	for s.eps > 1 {
		s.eps = max(1, s.eps/shrink)
		if err := s.refine(ctx); err != nil {
			return Solution{}, err
		}
		looks := int64(4)
		if s.eps == 1 {
			looks = math.MaxInt64
		}
		proved, err := s.prove(ctx, looks)
		if err != nil {
			return Solution{}, err
		}
		if proved {
			break
		}
	}
	return s.solution(g)
}

// state is a residual graph with prices. The reduced cost of an arc is
// cost + price[from] - price[to].
type state struct {
	first  []int32 // by node, where its arcs begin; one more at the end
	arcs   []residual
	at     []int32 // by arc of the graph: the residual arc
	price  []int64
	excess []int64
	cur    []int32 // by node, the arc to look at next
	eps    int64

	queue    fifo
	relabels int // since the last update of all prices
	buckets  buckets
}

type residual struct {
	cap, cost int64
	to, rev   int32
}

func newState(ctx context.Context, g *Graph) (*state, error) {
	n := len(g.Supply)
	s := &state{
		first: make([]int32, n+1), arcs: make([]residual, 2*len(g.Arcs)), at: make([]int32, len(g.Arcs)),
		price: make([]int64, n), excess: make([]int64, n), cur: make([]int32, n),
	}
	copy(s.excess, g.Supply)
	for _, a := range g.Arcs {
		if a.loop() {
			continue
		}
		s.first[a.From]++
		s.first[a.To]++
	}
	var sum int32
	for v := range s.first {
		s.first[v], sum = sum, sum+s.first[v]
	}
	copy(s.cur, s.first)
	factor := int64(n + 1)
	for i, a := range g.Arcs {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if a.loop() {
			continue
		}
		from, to := s.cur[a.From], s.cur[a.To]
		s.cur[a.From]++
		s.cur[a.To]++
		if c := max(a.Cost, -a.Cost); c > (1<<58)/factor {
			return nil, fault.Newf("quincy", ErrRange, "arc %d: cost %d with %d nodes, at most %d", i+1, a.Cost, n, (1<<58)/factor)
		}
		s.arcs[from] = residual{cap: a.Cap - a.Low, cost: a.Cost * factor, to: a.To, rev: to}
		s.arcs[to] = residual{cost: -a.Cost * factor, to: a.From, rev: from}
		s.at[i] = from
		s.excess[a.From] -= a.Low
		s.excess[a.To] += a.Low
		s.eps = max(s.eps, s.arcs[from].cost, -s.arcs[from].cost)
	}
	s.eps = max(s.eps, 1) + 1 // at least one phase, which finds a feasible flow
	s.queue.grow(n)
	return s, nil
}

// solution reads the flow off the arcs.
func (s *state) solution(g *Graph) (Solution, error) {
	out := Solution{Flow: make([]int64, len(g.Arcs)), Price: s.price}
	// Costs are multiples of the factor here, so prices prove as much if they are
	// rounded to multiples, all of them up: they only fall, from 0.
	factor := int64(len(s.price) + 1)
	for v := range s.price {
		s.price[v] /= factor
	}
	for i, a := range g.Arcs {
		switch {
		case !a.loop():
			out.Flow[i] = a.Cap - s.arcs[s.at[i]].cap
		case a.Cost < 0:
			out.Flow[i] = a.Cap
		default:
			out.Flow[i] = a.Low
		}
	}
	var err error
	out.Cost, err = g.Cost(out.Flow)
	return out, err
}

// refine turns the flow into one with residual arcs of reduced costs of at least -eps.
func (s *state) refine(ctx context.Context) error {
	for v := range s.price {
		for i := s.first[v]; i < s.first[v+1]; i++ {
			if a := &s.arcs[i]; a.cap > 0 && a.cost+s.price[v]-s.price[a.to] < 0 {
				s.push(int32(v), i, a.cap)
			}
		}
	}
	copy(s.cur, s.first)
	for v, e := range s.excess {
		if e > 0 {
			s.queue.add(int32(v))
		}
	}
	if err := s.update(ctx); err != nil {
		return err
	}
	for turn := 0; ; turn++ {
		v, ok := s.queue.next()
		if !ok {
			return nil
		}
		if turn%(1<<10) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.discharge(v); err != nil {
			return err
		}
		if s.relabels > len(s.price) {
			if err := s.update(ctx); err != nil {
				return err
			}
		}
	}
}

// push moves amount over arc i of v.
func (s *state) push(v, i int32, amount int64) {
	a := &s.arcs[i]
	a.cap -= amount
	s.arcs[a.rev].cap += amount
	s.excess[v] -= amount
	s.excess[a.to] += amount
}

// discharge pushes all of v's excess to neighbours, lowering v's price as
// often as it takes.
func (s *state) discharge(v int32) error {
	for s.excess[v] > 0 {
		i, end := s.cur[v], s.first[v+1]
		for ; i < end; i++ {
			a := &s.arcs[i]
			if a.cap <= 0 || a.cost+s.price[v]-s.price[a.to] >= 0 {
				continue
			}
			before := s.excess[a.to]
			s.push(v, i, min(s.excess[v], a.cap))
			if before <= 0 && s.excess[a.to] > 0 {
				s.queue.add(a.to)
			}
			if s.excess[v] == 0 {
				break
			}
		}
		s.cur[v] = i
		if i == end {
			if err := s.relabel(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// relabel lowers v's price as far as eps allows.
func (s *state) relabel(v int32) error {
	best := int64(math.MinInt64)
	for i := s.first[v]; i < s.first[v+1]; i++ {
		if a := &s.arcs[i]; a.cap > 0 && s.price[a.to]-a.cost > best {
			best = s.price[a.to] - a.cost
			s.cur[v] = i
		}
	}
	if best == math.MinInt64 {
		return fault.Newf("quincy", ErrInfeasible, "node %d: %d units cannot leave", v+1, s.excess[v])
	}
	s.price[v] = best - s.eps
	s.relabels++
	if s.price[v] < -farthest {
		return errFar(v)
	}
	return nil
}
