package experiments

// Summary is the result of one cell under one policy, over the seeds.
type Summary struct {
	Cell     string
	Machines int
	Policy   string
	Seeds    int

	Jobs                               Spread
	Gained, Slowed                     Spread // of the jobs: see [Row.Gained]
	SpeedupP50, SpeedupP80, SpeedupP95 Spread
	Distribution                       []Point // Fig 15
	Preempted, Waited                  Spread  // see [Result]
	Utilisation                        UtilisationSpread
}

// Spread is the mean of a figure over the seeds, and the least and the most that
// it was with any of them.
type Spread struct{ Mean, Least, Most float64 }

// Point is one of a distribution: the fraction of the jobs with a speed-up Below.
type Point struct {
	Below float64
	Jobs  Spread
}

// UtilisationSpread is [Utilisation] over the seeds.
type UtilisationSpread struct{ Mean, Deviation, Low, High, Step Spread }

// shown are the speed-ups of which a summary says how many jobs are below.
var shown = [...]float64{1 + notable, 1.5, 2, 3, 4, 6, 10, 20, 40}

// summarise returns the summary of one row for each seed.
func summarise(machines int, rows []Row) Summary {
	of := func(figure func(r *Row) float64) Spread { return spread(rows, figure) }
	s := Summary{
		Cell: rows[0].Workload, Machines: machines, Policy: rows[0].Policy, Seeds: len(rows),
		Jobs:       of(func(r *Row) float64 { return float64(len(r.Speedups)) }),
		Gained:     of(func(r *Row) float64 { return r.Gained() }),
		Slowed:     of(func(r *Row) float64 { return r.Slowed() }),
		SpeedupP50: of(func(r *Row) float64 { return r.Speedup(50) }),
		SpeedupP80: of(func(r *Row) float64 { return r.Speedup(80) }),
		SpeedupP95: of(func(r *Row) float64 { return r.Speedup(95) }),
		Preempted:  of(func(r *Row) float64 { return float64(r.Preempted) }),
		Waited:     of(func(r *Row) float64 { return float64(r.Waited) }),
	}
	for _, x := range shown {
		s.Distribution = append(s.Distribution, Point{x, of(func(r *Row) float64 { return r.Below(x) })})
	}
	used := make([]Utilisation, len(rows))
	for i, r := range rows {
		used[i] = r.Utilisation()
	}
	s.Utilisation = UtilisationSpread{
		Mean:      spread(used, func(u *Utilisation) float64 { return u.Mean }),
		Deviation: spread(used, func(u *Utilisation) float64 { return u.Deviation }),
		Low:       spread(used, func(u *Utilisation) float64 { return u.Low }),
		High:      spread(used, func(u *Utilisation) float64 { return u.High }),
		Step:      spread(used, func(u *Utilisation) float64 { return u.Step }),
	}
	return s
}

// spread returns a figure's spread over the seeds that there are.
func spread[S any](seeds []S, figure func(*S) float64) Spread {
	first := figure(&seeds[0])
	s := Spread{Least: first, Most: first}
	for i := range seeds {
		x := figure(&seeds[i])
		s.Mean += x
		s.Least, s.Most = min(s.Least, x), max(s.Most, x)
	}
	s.Mean /= float64(len(seeds))
	return s
}
