package late

import (
	"math"
	"time"
)

// Rule is a way to choose the task that runs a second time.
type Rule uint8

// The rules that are in use, or were.
const (
	// LATE copies a task that progresses more slowly than most: of these the one
	// that is expected to end last, on a node that is not slow. OSDI 2008, section
	// 4.
	LATE Rule = iota

	// Never copies nothing.
	Never

	// Hadoop copies any one of the tasks with a progress of [Policy].Gap behind the
	// average, as Hadoop did before LATE. OSDI 2008, section 2.
	Hadoop

	// Spark copies the task that started first, under two conditions:
	// [Policy].Quantile of the tasks are finished, and it runs [Policy].Multiplier
	// times their median. Spark does so since 4.0. It needs no progress.
	Spark

	// MapReduce2 copies the task that is expected to end last, if a copy would end
	// before it. A copy is expected to take the average time of finished tasks.
	// Hadoop's MapReduce 2 does so.
	MapReduce2
)

// None stands for zero in a field of a [Policy] where zero itself is the default:
// no slow node, no gap, no least age.
const None = math.MinInt64

// Policy is a rule for copies: which tasks are copied, on which nodes, and how many
// at a time.
//
// The zero Policy is LATE with the values of the paper. A field that is zero has
// the default of the rule. [None] stands for zero itself, in each field but Rule,
// Cap and Multiplier; for a cap of zero use the rule [Never]. Policies are plain
// values.
type Policy struct {
	Rule Rule

	// SlowTask is the percentile of progress rates below which a task is slow: 0.25
	// by default. It is over tasks that are MinAge old or finished. For LATE only.
	SlowTask float64

	// SlowNode is the percentile of the nodes' speeds below which a node gets
	// no copies: 0.25 by default for LATE, none for the other rules.
	SlowNode float64

	// Cap is the share of all slots that may run copies, at least one: 0.10 by
	// default for LATE, all for the other rules. MapReduce2 has a further cap: the
	// largest of 10 copies, 1 % of the job's tasks and 10 % of its running ones.
	Cap float64

	// MinAge is the run time from which a task may be copied: a minute by default,
	// 100 ms for Spark.
	MinAge time.Duration

	// Gain adds MapReduce2's condition to LATE: the copy has to be expected to end
	// before the original. A copy is expected to take as long as the median task,
	// on a node of the asking one's speed.
	Gain bool

	// Gap is the distance of a task's progress from the average at which Hadoop
	// copies it: 0.2 by default.
	Gap float64

	// Quantile is the share of finished tasks from which Spark copies one: 0.9 by
	// default, and one task at least. Multiplier is the run time from which it is
	// copied, in medians of finished tasks: above 3 by default, and above MinAge.
	// The median of an even number of tasks is the longer of the two in the middle.
	Quantile, Multiplier float64
}

// resolved returns p with the rule's defaults in place of zeros, or an error for a
// field out of range.
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

// orElse sets a field that is zero to its default.
func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// orNone sets a field of a policy that is zero to its default, and one that is None
// to zero.
func orNone[T float64 | time.Duration](field *T, value T) {
	if orElse(field, value); *field == None {
		*field = 0
	}
}
