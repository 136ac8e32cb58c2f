package late

import (
	"math"
	"time"
)

// Rule is a way to choose the task that runs a second time.
type Rule uint8

// The rules that are in use, or were.
const (
	// LATE copies, of the tasks that progress more slowly than most, the one
	// that is expected to end last, on a node that is not slow. OSDI 2008,
	// section 4.
	LATE Rule = iota

	// Never copies nothing.
	Never

	// Hadoop copies one of the tasks whose progress is [Policy].Gap behind the
	// average, whichever, as Hadoop did before LATE. OSDI 2008, section 2.
	Hadoop

	// Spark copies the task that started first once [Policy].Quantile of the
	// tasks are finished and it runs [Policy].Multiplier times their median, as
	// Spark does since 4.0. It needs no progress.
	Spark

	// MapReduce2 copies the task that is expected to end last, if a copy that
	// takes as long as the finished tasks did on average would end before it,
	// as Hadoop's MapReduce 2 does.
	MapReduce2
)

// None stands for zero in a field of a [Policy], where zero itself is the default:
// no node is slow, no gap, no age to reach.
const None = math.MinInt64

// Policy says which tasks are copied, where, and how many at a time.
//
// The zero Policy is LATE with the values of the paper. A field that is zero
// has the default of the rule; [None] stands for zero itself, in each field but
// Rule, Cap and Multiplier: a cap of zero is the rule [Never]. Policies are plain
// values.
type Policy struct {
	Rule Rule

	// SlowTask is the percentile of the progress rates, of tasks that are
	// MinAge old or finished, below which a task is slow: 0.25 by default. For
	// LATE only.
	SlowTask float64

	// SlowNode is the percentile of the nodes' speeds below which a node gets
	// no copies: 0.25 by default for LATE, none for the other rules.
	SlowNode float64

	// Cap is which share of all slots may run copies, at least one: 0.10 by
	// default for LATE, all for the other rules. MapReduce2 keeps, besides, to
	// the largest of 10 copies, 1 % of the job's tasks and 10 % of those that
	// run.
	Cap float64

	// MinAge is how long a task runs before it may be copied: a minute by
	// default, 100 ms for Spark.
	MinAge time.Duration

	// Gain asks LATE for what MapReduce2 always asks for: that the copy be
	// expected to end before the original. A copy is expected to take what the
	// median task takes, on a node of the requesting one's speed.
	Gain bool

	// Gap is how far behind the average a task's progress is before Hadoop
	// copies it: 0.2 by default.
	Gap float64

	// Quantile is the share of tasks that are finished before Spark copies
	// one, 0.9 by default, and one task at least. Multiplier is how many times as
	// long as their median a task has run, or longer than MinAge if that is more:
	// more than 3 times by default. The median of an even number of tasks is the
	// longer of the two in the middle.
	Quantile, Multiplier float64
}

// resolved returns p with the rule's defaults in place of zeros, or says which
// field means nothing.
func (p Policy) resolved() (Policy, error) {
	if p.Rule > MapReduce2 {
		return p, refuse(ErrPolicy, "policy: rule %d, want one of 0 to %d", p.Rule, MapReduce2)
	}
	for _, f := range []struct {
		name   string
		value  float64
		orNone bool
	}{
		{"slow task percentile", p.SlowTask, true},
		{"slow node percentile", p.SlowNode, true},
		{"cap", p.Cap, false},
		{"gap", p.Gap, true},
		{"quantile", p.Quantile, true},
	} {
		switch {
		case share(f.value) || f.orNone && f.value == None:
		case f.orNone:
			return p, refuse(ErrPolicy, "policy: %s %v, want 0 to 1, or None", f.name, f.value)
		default:
			return p, refuse(ErrPolicy, "policy: %s %v, want 0 to 1", f.name, f.value)
		}
	}
	if p.MinAge < 0 && p.MinAge != None {
		return p, refuse(ErrPolicy, "policy: minimum age %v, want 0 or more, or None", p.MinAge)
	}
	if p.Multiplier != 0 && !(p.Multiplier >= 1 && p.Multiplier <= 1e9) {
		return p, refuse(ErrPolicy, "policy: multiplier %v, want 1 to 1e9", p.Multiplier)
	}
	minAge := time.Minute
	slowNode := 0.0 // no node is slow
	limit := 1.0
	switch p.Rule {
	case LATE:
		slowNode, limit = 0.25, 0.10
	case Spark:
		minAge = 100 * time.Millisecond
	default:
	}
	orNone(&p.SlowTask, 0.25)
	orNone(&p.SlowNode, slowNode)
	orElse(&p.Cap, limit)
	orNone(&p.MinAge, minAge)
	orNone(&p.Gap, 0.2)
	orNone(&p.Quantile, 0.9)
	orElse(&p.Multiplier, 3)
	return p, nil
}

// orElse has a field that is zero have its default.
func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// orNone has a field of a policy that is zero have its default, and one that is
// None be zero.
func orNone[T float64 | time.Duration](field *T, value T) {
	if orElse(field, value); *field == None {
		*field = 0
	}
}
