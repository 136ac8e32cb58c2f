package offers

import "math/rand/v2"

// Lottery is an [Order] that draws the next framework at random, each with a chance
// proportional to its weight. B. Hindman et al., "Mesos: a platform for fine-grained
// resource sharing in the data center", NSDI 2011, section 4, propose it for slots that
// several frameworks prefer.
//
// Frameworks are drawn as events of independent clocks, each as fast as its weight: which
// clock strikes next is such a draw. It takes O(1) instead of a walk over all tickets. A
// framework that is passed over, because it does not want the room, is first when it
// does. It saves one turn at most.
//
// A Lottery orders frameworks or roles of one master.
type Lottery struct {
	rand *rand.Rand
	now  float64 // the latest strike that won
}

// NewLottery returns a lottery that draws from r, which is its own from then on.
// Without a source all clocks strike at the same time, and ties decide.
func NewLottery(r *rand.Rand) *Lottery { return &Lottery{rand: r} }

// Rank returns when the clock of a framework strikes next.
func (l *Lottery) Rank(s Standing) float64 {
	if l == nil {
		return 0
	}
	if s.Chosen {
		l.now = max(l.now, s.Rank)
	} else if !s.New {
		return s.Rank
	}
	if l.rand == nil {
		return l.now
	}
	return l.now + l.rand.ExpFloat64()/s.Weight
}
