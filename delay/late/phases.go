package late

import "slices"

// Phases are the weights of the parts of a task, which run one after the other;
// only their ratios matter. Hadoop's reduces have three of the same weight: copy,
// sort, reduce.
//
// The progress of a task is the weight of its finished phases and of its share of
// the present one: OSDI 2008, section 2.1, with weights of the caller's own. The
// zero value is one phase, the whole task.
type Phases []float64

// Progress returns the progress, from 0 to 1, of a task that has done the given
// share of its phase. Phases are counted from 0; a phase of weight 0 is passed at
// once. Cost: O(phases).
//
// [ErrCall] reports a phase that is not there, or a share outside [0, 1]. It
// also reports a weight that is negative or not finite, and weights of nothing at
// all.
func (p Phases) Progress(phase int, done float64) (float64, error) {
	if len(p) == 0 {
		p = Phases{1}
	}
	if phase < 0 || phase >= len(p) {
		return 0, refuse(errProgress, "phase %d, want 0 to %d", phase, len(p)-1)
	}
	if !share(done) {
		return 0, refuse(errProgress, "phase %d: %v of it done, want 0 to 1", phase, done)
	}
	largest := slices.Max(p)
	behind, total := 0.0, 0.0
	for i, weight := range p {
		if !share(weight / largest) { // so that no sum overflows
			return 0, refuse(errProgress, "phase %d: weight %v, want 0 or more, finite, and one above 0", i, weight)
		}
		total += weight / largest
		switch {
		case i < phase:
			behind += weight / largest
		case i == phase:
			behind += weight / largest * done
		}
	}
	return min(behind/total, 1), nil
}
