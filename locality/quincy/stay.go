package quincy

// stay lets tasks stay at their machines that the solver has moved or preempted, if
// a plan of the same cost allows it. It finds such plans if a few others, which
// change their place anyway, have to change it in another way.
func (p *Planner[J, T]) stay() {
	p.leaving.grow(len(p.tasks))
	movers := p.movers[:0]
	for _, number := range p.net.Touched() {
		if p.tasks[number].live && !p.leaving.has(number) && p.leaves(number) {
			p.leaving.set(number, true)
			movers = append(movers, number)
		}
	}
	for _, number := range movers {
		if it := &p.tasks[number]; it.state.Running {
			p.net.Stay(number, p.machineAt.get(it.state.On), p.mayMove)
		}
	}
	for _, number := range movers {
		p.leaving.set(number, false)
	}
	p.movers = movers
}

// leaves reports whether the plan gives a task another place than before.
func (p *Planner[J, T]) leaves(number int32) bool {
	it := &p.tasks[number]
	at, _, _ := p.net.At(number)
	return !it.state.Running || at != p.machineAt.get(it.state.On)
}

// mayMove reports the same without a look at the task. It is false for most tasks.
func (p *Planner[J, T]) mayMove(number int32) bool {
	return p.leaving.has(number) && p.leaves(number)
}

// taskSet is a set of tasks, by number.
type taskSet []uint64

func (b *taskSet) grow(n int) {
	if more := n/64 + 1 - len(*b); more > 0 {
		*b = append(*b, make(taskSet, more)...)
	}
}

func (b taskSet) has(n int32) bool { return b[n/64]&(1<<(n%64)) != 0 }

func (b taskSet) set(n int32, in bool) {
	if b[n/64] &^= 1 << (n % 64); in {
		b[n/64] |= 1 << (n % 64)
	}
}
