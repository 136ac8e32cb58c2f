package drf

import "math"

// Levels keep the weights of children that lack the same room.
//
// Children that lack room fall behind those that are served on what they leave. Lag
// beyond a leeway is forgiven. Children at one bottleneck lose service at one rate. A
// level forgives them the same amounts, so that the differences between them stay.
//
//   - All children begin at level 0.
//   - A child that is served below the floor of its level is raised to the floor, once.
//     It joins the next level.
//   - A child of a lower level that is served below the floor of the level above shifts
//     its whole level up to that floor.
//   - A child that has received as much as those that passed it returns to the level
//     above.
//
// Children that fall behind their own level have a slower bottleneck, and a level of
// their own. So levels order themselves by the rate of their bottlenecks.
//
// Bound: let V_j and F_j be the mark passed and the floor of level j, and B_j = V_j - F_j.
// A child of level i that starts has a key K >= V_0 - (B_0 + ... + B_i). Proof:
//
//  1. settleLevel leaves K >= F_i, or K = F_(i-1) where the child has joined level i.
//  2. It leaves max(K, V_j) >= F_(j-1) for each j from 1 to i: follow shifts level j, and
//     shifts of the levels after j change neither V_j nor F_(j-1), and do not lower K.
//  3. If K < F_0, then V_1 >= F_0 = V_0 - B_0 by 2. If K < F_1 too, then
//     V_2 >= F_1 = V_1 - B_1, and so on. By 1 this ends at level i.
//
// Weights: children of one level take the same shifts between their starts, except for
// one that a shift would take past the level above.

// levels is the number of levels of a class. Children below the floor of the last one
// are raised to it one by one.
const levels = 4

// marks are how far the service of a class of children has come.
type marks struct {
	epoch  uint64
	levels [levels]level
}

// level is the state of the children of one level. Keys are those of the whole class.
type level struct {
	served float64 // v: the largest service by weight at which a child was served

	// passed is the largest service by weight at which a child was served while a
	// child with a lesser key lacked room. The floor is passed less the leeway.
	passed, floor float64

	shift float64 // by which the keys of its children have shifted in all
	ahead float64 // mean of Z by weight after a start
}

// mark returns the marks of a class in this epoch.
func (g *children) mark(class int32) *marks {
	m := &g.marks
	if class != 0 {
		m = g.marksOf(class)
	}
	if m.epoch != g.epoch {
		*m = marks{epoch: g.epoch}
	}
	return m
}

func (g *children) marksOf(class int32) *marks {
	m := g.classes[class]
	if m == nil {
		if g.classes == nil {
			g.classes = make(map[int32]*marks)
		}
		m = &marks{}
		g.classes[class] = m
	}
	return m
}

// shifted returns the key of a child of a level below 0, with the shift since it was
// served last. The shift takes no child past those of the level above: one that does
// not lack room would never be served then.
func (k *marks) shifted(m *member, key float64) float64 {
	by, most := k.levels[m.level].shift-m.taken, k.levels[m.level-1].passed
	if by <= 0 || key >= most {
		return key
	}
	return min(key+by, most)
}

// settleLevel moves a waiting child that is served to the level of its place, and shifts
// the levels up to that one. Raw is the key by its sums. It returns the key that the child
// is served at.
func (k *marks) settleLevel(m *member, raw, received float64) float64 {
	key := raw
	if m.level > 0 {
		key = k.shifted(m, raw)
	}
	switch l := &k.levels[m.level]; {
	case key < l.floor:
		key = l.floor
		m.level = min(m.level+1, levels-1)
	case m.level > 0:
		for m.level > 0 && received+(key-raw) >= k.levels[m.level-1].passed {
			m.level--
		}
	}
	for i := 1; i <= int(m.level); i++ {
		key += k.follow(i, key)
	}
	return key
}

// follow shifts a level and those after it if its service is below the floor of the
// level above: that of a child with this key, or of one that passed another. It returns
// the shift.
func (k *marks) follow(at int, key float64) float64 {
	less := k.levels[at-1].floor - max(key, k.levels[at].passed)
	if less <= 0 {
		return 0
	}
	for i := at; i < levels; i++ {
		k.levels[i].move(less)
		k.levels[i].shift += less
	}
	return less
}

// pass notes that a child of a level with this received service by weight was served
// while one with a lesser key lacked room. The floor never falls, since stored keys are
// lower bounds: the leeway grows by no more than passed does.
func (k *marks) pass(at uint8, received float64) {
	l := &k.levels[at]
	if received <= l.passed {
		return
	}
	ahead := l.ahead
	if at < levels-1 {
		ahead = max(ahead, k.levels[at+1].ahead)
	}
	// A whole number, so that equal keys stay equal after a shift.
	l.passed, l.floor = received, max(l.floor, math.Floor(received-8*ahead))
}

// move moves the marks of a level by so much.
func (l *level) move(by float64) {
	l.served += by
	l.passed += by
	l.floor += by
}
