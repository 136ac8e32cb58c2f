package omega

import "github.com/cellsched/cellsched/omega/internal/atomics"

// The fate of a gang. It leaves undecided once.
const (
	undecided uint32 = iota
	granted
	failed
)

// gang is one k-word compare-and-swap over the words of k machines: all of them take
// their next version, or none does.
//
// The algorithm is that of Guerraoui, Kogan, Marathe and Zablotchi, "Efficient Multi-word
// Compare and Swap", DISC 2020. k swaps put the next versions in place, and one swap of
// status decides them all. That last swap is the linearization point. A goroutine that
// meets an undecided gang in a word helps it to its end instead of waiting. So a
// scheduler that stalls half-way blocks no other.
//
// A scheduler uses again the versions of its own that a granted gang of its own took out
// of their words, and versions of its gangs that a lone swap of its own took out. No
// version is written that others may read, and there is no ABA:
//
//  1. run returns once the gang is decided, and its scheduler retires no version meanwhile.
//     The versions of others that the gang expects are kept. So no version that an
//     undecided gang expects or puts in place is used again.
//  2. Of a gang that failed none is used again. A helper may still put its versions in
//     place, and they stand for the versions that it expected.
//  3. A helper keeps the version that it is to swap. That version does not come back once
//     it has left its word. So a helper's swap succeeds only if the word has not changed
//     since the helper loaded it. After that load the helper saw the gang undecided.
//  4. Of the versions in its steps a helper compares addresses alone. If one of them was
//     used again the gang was decided before, and the helper learns that from status.
//  5. A reader that meets an undecided gang finds the value in prev. The reader keeps that
//     version, then looks whether prev still points to it. The gang's scheduler drops
//     prev, then looks whether the version is kept. Each writes before it reads, so at
//     least one sees the other's write.
//
// spin checks this, and finds a fault where a rule is left out: internal/spin/regang.pml.
type gang struct {
	status atomics.Uint32

	// steps are the words, in rising order of node number so that two gangs
	// meet in one order. They are dropped once the gang is decided; a helper
	// that finds them gone has nothing left to do.
	steps atomics.Pointer[[]step]
}

// step is one machine of a gang. expect is the machine's version from which next was
// computed. The op of next is the gang, and its prev is expect.
type step struct {
	word   *word
	expect *object
	next   *object
}

// help drives g to its decision. Any number of goroutines may do so at once, and any of
// them may stop anywhere.
//
// The loop over one word repeats only when the word changed or another gang was decided,
// so another commit succeeded. Helping recurses at most once per gang in progress: each
// waits for a word above those it has.
func (g *gang) help() { g.helpAs(0) }

// helpAs is help for the scheduler with that maker, if the gang is its own: it does not
// keep its own versions.
func (g *gang) helpAs(maker uint32) {
	steps := g.steps.Load()
	if steps == nil {
		return
	}
	for i := range *steps {
		if !g.install(&(*steps)[i], maker) {
			return
		}
	}
	g.status.CompareAndSwap(undecided, granted)
}

// install puts one next version in place and reports whether the gang can still be
// granted as far as this goroutine can see.
func (g *gang) install(s *step, maker uint32) bool {
	for {
		raw := s.word.KeepFor(maker)
		if raw == s.next {
			return true // another helper was here before
		}
		val, settled := raw.V.value()
		if !settled {
			raw.V.op.help()
			continue
		}
		if val != &s.expect.V {
			g.status.CompareAndSwap(undecided, failed)
			return false
		}
		if g.status.Load() != undecided {
			return false
		}
		// A helper that was delayed just before the swap does no harm: it has kept raw. If the gang was
		// granted meanwhile the word has left raw, and raw never comes back. If it
		// failed, next stands for its prev, and raw stood for the same version.
		if s.word.CompareAndSwap(raw, s.next) {
			return true
		}
	}
}

// run decides a gang of the scheduler with that maker, and drops the versions that it kept
// alive.
func (g *gang) run(steps []step, maker uint32) bool {
	for i := range steps {
		steps[i].next.V.op = g
		steps[i].next.V.prev.Store(steps[i].expect)
	}
	g.steps.Store(&steps)
	g.helpAs(maker)
	g.steps.Store(nil)
	if g.status.Load() != granted {
		return false // each next that got in place stands for its prev
	}
	for i := range steps {
		steps[i].next.V.prev.Store(nil)
	}
	return true
}
