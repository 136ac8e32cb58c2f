package slots

// Path is a chain of moves that seats a task at one of its options, with its cost.
type Path struct {
	Option Option
	// Leaf is the leaf to which the task would come.
	Leaf Loc
	// Open says that there is a path.
	Open bool
	// Steps are the other tasks that would have to go elsewhere.
	Steps []Step
	// Extra is by how much the sum of all costs would grow.
	Extra int64
}

// Step is a task that goes from a leaf to another, for so much more.
type Step struct {
	Task     int32
	From, To Loc
	Extra    int64
}

// Paths finds for each option of t, in their order, the path to seat t there at the time
// now. It is the cheapest chain of other tasks that give way to each other, and of those
// the shortest.
//
// All tasks with a place have to sit at leaves, as [Net.ReplaceAt] leaves them. The chains
// are the cheapest if nothing has changed since Solve, and possible otherwise. Cost: that
// of the searches, see shortestPaths; O(options of all tasks × log locations) at worst.
func (n *Net) Paths(t int32, now int64) []Path {
	search := &n.paths
	search.begin(n, t, now)
	paths := make([]Path, 0, n.tasks[t].n)
	for _, o := range n.optionsOf(t) {
		paths = append(paths, search.path(Option{Base: o.base, Slope: o.slope, At: o.at}))
	}
	return paths
}

// Room returns how many tasks v can hold, with all below it, and does.
func (n *Net) Room(v Loc) (most, used int) {
	l := &n.locs[v]
	most, used = int(l.demand)+int(l.capacity), len(l.here)
	for _, k := range n.kids[v] {
		m, u := n.Room(k)
		most, used = most+m, used+u
	}
	return most, used
}

// Sitting returns the tasks that sit at v.
func (n *Net) Sitting(v Loc) []int32 {
	var tasks []int32
	for i := range n.locs[v].here {
		tasks = append(tasks, n.locs[v].here[i].task)
	}
	return tasks
}
