package drf_test

import "github.com/cellsched/cellsched/resources"

// yardstick is a tournament tree over flat arrays and nothing else: three kinds,
// float64 shares, no exact ties, no errors, no handles. The heap's extra
// cost is the price of these.
type yardstick struct {
	leaves  int
	inverse [3]float64
	weights []float64 // by slot: the inverse of the weight
	usages  [][3]int64
	shares  []float64
	winners []int32    // by node; leaves too
	demands [][3]int64 // by node: the smallest below it
}

func newYardstick(c *benchCell) *yardstick {
	leaves := 8
	for leaves < len(c.users) {
		leaves *= 2
	}
	y := &yardstick{
		leaves: leaves, weights: make([]float64, leaves), usages: make([][3]int64, leaves),
		shares: make([]float64, leaves), winners: make([]int32, 2*leaves), demands: make([][3]int64, 2*leaves),
	}
	for k := range y.inverse {
		y.inverse[k] = 1 / float64(c.total[k])
	}
	for s := range leaves {
		y.winners[leaves+s], y.shares[s] = int32(s), 1e300
		y.demands[leaves+s] = [3]int64{1 << 62, 1 << 62, 1 << 62}
		if s < len(c.users) {
			y.weights[s] = 1 / c.weights[s]
			y.demands[leaves+s] = three(c.demands[s])
			usage, _ := c.heap.Usage(c.users[s])
			y.usages[s] = three(usage)
			y.shares[s] = y.share(s)
		}
	}
	for i := leaves - 1; i > 0; i-- {
		for k := range 3 {
			y.demands[i][k] = min(y.demands[2*i][k], y.demands[2*i+1][k])
		}
		y.winners[i] = y.less(y.winners[2*i], y.winners[2*i+1])
	}
	return y
}

func three(v resources.Vector) [3]int64 { return [3]int64{v[0], v[1], v[2]} }

func (y *yardstick) share(s int) float64 {
	u := &y.usages[s]
	return y.weights[s] * max(float64(u[0])*y.inverse[0], float64(u[1])*y.inverse[1], float64(u[2])*y.inverse[2])
}

func (y *yardstick) less(a, b int32) int32 {
	if y.shares[b] < y.shares[a] {
		return b
	}
	return a
}

// add charges or credits one task of s.
func (y *yardstick) add(s int, sign int64) {
	u, d := &y.usages[s], &y.demands[y.leaves+s]
	for k := range u {
		u[k] += sign * d[k]
	}
	y.shares[s] = y.share(s)
	for i := (y.leaves + s) / 2; i > 0; i /= 2 {
		y.winners[i] = y.less(y.winners[2*i], y.winners[2*i+1])
	}
}

func (y *yardstick) fits(i int, free *[3]int64) bool {
	d := &y.demands[i]
	return d[0] <= free[0] && d[1] <= free[1] && d[2] <= free[2]
}

// pick returns the smallest share that fits, or -1: subtrees are left out that
// cannot fit or cannot be smaller than the best so far.
func (y *yardstick) pick(free *[3]int64) int {
	if w := int(y.winners[1]); y.fits(y.leaves+w, free) {
		return w
	}
	best, share := -1, 1e300
	var stack [64]int32
	stack[0] = 1
	for n := 1; n > 0; {
		n--
		i := int(stack[n])
		w := int(y.winners[i])
		if y.shares[w] >= share || !y.fits(i, free) {
			continue
		}
		if y.fits(y.leaves+w, free) {
			best, share = w, y.shares[w]
			continue
		}
		if i >= y.leaves {
			continue
		}
		first, second := int32(2*i), int32(2*i+1) // the half with the smaller share first
		if y.shares[y.winners[second]] < y.shares[y.winners[first]] {
			first, second = second, first
		}
		stack[n], stack[n+1] = second, first
		n += 2
	}
	return best
}

// yardCell is a benchCell that is run by the yardstick.
type yardCell struct {
	*benchCell
	yard *yardstick
	room [3]int64
}

func newYardCell(c *benchCell) *yardCell { return &yardCell{c, newYardstick(c), three(c.free)} }

func (c *yardCell) step() {
	if !c.full {
		c.yard.add(c.yard.pick(&c.room), 1)
		return
	}
	i := c.end()
	c.yard.add(i, -1)
	for k, q := range three(c.demands[i]) {
		c.room[k] += q
	}
	for {
		i := c.yard.pick(&c.room)
		if i < 0 {
			return
		}
		c.yard.add(i, 1)
		for k, q := range three(c.demands[i]) {
			c.room[k] -= q
		}
		c.running = append(c.running, i)
	}
}
