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
// A gang's versions are never used again, and those that it expects not before it is
// decided. The garbage collector frees none that a goroutine can still compare with,
// which rules out ABA.
type gang struct {
	status atomics.Uint32

	// steps are the words, in rising order of node number so that two gangs
	// meet in one order. They are dropped once the gang is decided; a helper
	// that finds them gone has nothing left to do.
	steps atomics.Pointer[[]step]
}

// step is one machine of a gang. expect is the machine's version from which next was
// computed. The op of next is the gang, and its prev is expect. next is never used again,
// expect not before the gang is decided.
type step struct {
	word   *word
	expect *version
	next   *object
	node   uint32
}

// help drives g to its decision. Any number of goroutines may do so at once, and any of
// them may stop anywhere.
//
// The loop over one word repeats only when the word changed or another gang was decided,
// so another commit succeeded. Helping recurses at most once per gang in progress: each
// waits for a word above those it has.
func (g *gang) help() {
	steps := g.steps.Load()
	if steps == nil {
		return
	}
	for i := range *steps {
		if !g.install(&(*steps)[i]) {
			return
		}
	}
	g.status.CompareAndSwap(undecided, granted)
}

// install puts one next version in place and reports whether the gang can still be
// granted as far as this goroutine can see.
func (g *gang) install(s *step) bool {
	for {
		raw := s.word.Keep()
		if raw == s.next {
			return true // another helper was here before
		}
		val, settled := raw.V.value()
		if !settled {
			raw.V.op.help()
			continue
		}
		if val != s.expect {
			g.status.CompareAndSwap(undecided, failed)
			return false
		}
		if g.status.Load() != undecided {
			return false
		}
		// A helper that was delayed just before the swap does no harm. If the gang was
		// granted meanwhile the word has left raw, and raw never comes back. If it
		// failed, next stands for its prev, and raw stood for the same version.
		if s.word.CompareAndSwap(raw, s.next) {
			return true
		}
	}
}

// run decides a gang made by this goroutine and drops the versions that it kept alive.
func (g *gang) run(steps []step) bool {
	for i := range steps {
		steps[i].next.V.op = g
		steps[i].next.V.prev.Store(steps[i].expect)
	}
	g.steps.Store(&steps)
	g.help()
	g.steps.Store(nil)
	if g.status.Load() != granted {
		return false // each next that got in place stands for its prev
	}
	for i := range steps {
		steps[i].next.V.prev.Store(nil)
	}
	return true
}
