package delay

// tree holds a number for each of a row of jobs and finds one that is not negative.
// An addition to the first numbers costs O(log jobs), as each operation does.
//
// It is a segment tree in an array: node i is above 2i and 2i+1, and leaves are the
// second half. An addition to a whole subtree is kept at its root.
type tree struct {
	nodes []treeNode
}

type treeNode struct {
	add int64 // to all below, and in most already
	max int64 // of the leaves below, without additions above
}

// vacant is the number of a leaf without a job. The sum of all additions is less
// than -vacant/2, and no number is less than vacant/2. So no sum overflows and a
// vacant number stays negative.
const vacant = -1 << 62

// newTree returns a tree of n vacant numbers, n a power of two.
func newTree(n int) tree {
	t := tree{nodes: make([]treeNode, 2*n)}
	for i := range t.nodes {
		t.nodes[i].max = vacant
	}
	return t
}

// addFirst adds x, at least 0, to the first n numbers.
func (t *tree) addFirst(n int, x int64) {
	if n <= 0 || x == 0 {
		return
	}
	leaves := len(t.nodes) / 2
	if n >= leaves {
		t.nodes[1].add += x
		t.nodes[1].max += x
		return
	}
	// Add to the subtrees to the left of the way down to leaf n.
	i := leaves + n
	for ; i > 1; i /= 2 {
		if i%2 == 1 {
			t.nodes[i-1].add += x
			t.nodes[i-1].max += x
		}
		t.pull(i / 2)
	}
}

// get returns number i.
func (t *tree) get(i int) int64 {
	i += len(t.nodes) / 2
	x := t.nodes[i].max
	for i /= 2; i >= 1; i /= 2 {
		x += t.nodes[i].add
	}
	return x
}

// set makes number i x.
func (t *tree) set(i int, x int64) {
	i += len(t.nodes) / 2
	above := int64(0)
	for k := i / 2; k >= 1; k /= 2 {
		above += t.nodes[k].add
	}
	t.nodes[i] = treeNode{max: x - above}
	for i /= 2; i >= 1; i /= 2 {
		t.pull(i)
	}
}

// maxFirst returns the largest of the first n numbers.
func (t *tree) maxFirst(n int) int64 {
	leaves := len(t.nodes) / 2
	if n >= leaves {
		return t.nodes[1].max
	}
	most := int64(vacant)
	for i := leaves + n; i > 1; i /= 2 {
		if i%2 == 1 {
			most = max(most, t.nodes[i-1].max)
		}
		most += t.nodes[i/2].add
	}
	return most
}

// ripe returns the first number that is not negative, -1 if there is none.
func (t *tree) ripe() int {
	if t.nodes[1].max < 0 {
		return -1
	}
	i, above := 1, int64(0)
	for leaves := len(t.nodes) / 2; i < leaves; {
		above += t.nodes[i].add
		i *= 2
		if t.nodes[i].max+above < 0 {
			i++
		}
	}
	return i - len(t.nodes)/2
}

// pull brings node i up to date with the two below it.
func (t *tree) pull(i int) {
	t.nodes[i].max = max(t.nodes[2*i].max, t.nodes[2*i+1].max) + t.nodes[i].add
}
