package experiments

import (
	"context"
	"math"
	"slices"

	"github.com/cellsched/cellsched/omega/elastic"
)

// NamedPolicy is a policy by the paper's name.
type NamedPolicy struct {
	Name   string
	Policy elastic.Policy
}

// Policies returns the policies of section 6.1 with the paper's parameters. The
// first is no policy: jobs get the workers that they ask for.
func Policies() []NamedPolicy {
	return []NamedPolicy{
		{"none", elastic.Policy{Times: 1}},
		{"relative size 4", elastic.Policy{Times: 4}},
		{"global cap 60 %", elastic.Policy{Cap: 60}},
		{"max-parallelism", elastic.Policy{}},
	}
}

// Row is the result of one workload under one policy.
type Row struct {
	Workload, Policy string
	Result
	// Speedups are by how much sooner each job was done than under the first
	// policy, from when it came, in rising order: Fig 15.
	Speedups []float64
}

// Compare runs the workload under each of the policies. Cost and errors: those of
// [Run] for each.
func Compare(ctx context.Context, w Workload) ([]Row, error) {
	var rows []Row
	var plain Result
	for i, p := range Policies() {
		result, err := Run(ctx, w, p.Policy)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			plain = result
		}
		rows = append(rows, newRow(w.Name, p.Name, result, plain))
	}
	return rows, nil
}

// newRow returns the row of a result beside that of the first policy.
func newRow(workload, policy string, result, plain Result) Row {
	row := Row{Workload: workload, Policy: policy, Result: result}
	for i, took := range result.Took {
		row.Speedups = append(row.Speedups, float64(plain.Took[i])/float64(took))
	}
	slices.Sort(row.Speedups)
	return row
}

// notable is the change, as a fraction, from which on a job counts as faster or
// slower.
const notable = 0.01

// Gained returns the fraction of the jobs that were done sooner, by 1 % or more;
// as the other fractions it is 0 if there are no jobs.
func (r Row) Gained() float64 {
	if len(r.Speedups) == 0 {
		return 0
	}
	return 1 - r.Below(1+notable)
}

// Slowed returns the fraction of the jobs that took longer, by 1 % or more.
func (r Row) Slowed() float64 { return r.Below(1 / (1 + notable)) }

// Below returns the fraction of the jobs with a speed-up less than x: the curve of
// Fig 15.
func (r Row) Below(x float64) float64 {
	n, _ := slices.BinarySearch(r.Speedups, x)
	return float64(n) / float64(max(len(r.Speedups), 1))
}

// Speedup returns the speed-up that so many per cent of the jobs do not exceed.
func (r Row) Speedup(percent int) float64 { return quantile(r.Speedups, percent) }

// Utilisation describes how the CPUs in use vary, as fractions of the cell: Fig 16.
type Utilisation struct {
	Mean, Deviation float64
	Low, High       float64 // 5 % of the minutes are below, 5 % above
	Step            float64 // mean change from one minute to the next
}

// Utilisation returns how the utilisation varies from minute to minute. Of spans
// of more than two hours the first is left out, in which an empty cell fills.
func (r Row) Utilisation() Utilisation {
	used := r.Used
	const hour = 60
	if len(used) > 2*hour {
		used = used[hour:]
	}
	var u Utilisation
	n := float64(len(used))
	for i, x := range used {
		u.Mean += x / n
		if i > 0 {
			u.Step += math.Abs(x-used[i-1]) / (n - 1)
		}
	}
	for _, x := range used {
		u.Deviation += (x - u.Mean) * (x - u.Mean) / n
	}
	u.Deviation = math.Sqrt(u.Deviation)
	sorted := slices.Sorted(slices.Values(used))
	u.Low, u.High = quantile(sorted, 5), quantile(sorted, 95)
	return u
}

// quantile returns the value that so many per cent of the sorted values do not
// exceed, 0 if there are none.
func quantile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(max((len(sorted)*percent+99)/100-1, 0), len(sorted)-1)]
}
