package federation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// wide returns the first of so many global masters over 10 cells, which has heard of all
// machines, and the verifiers that it is served by.
func wide(b testing.TB, workers, globals int) (*federation.Global, []*federation.Verifier, []*omega.Cell) {
	b.Helper()
	names := make([]string, globals)
	for i := range names {
		names[i] = fmt.Sprint("global-", i)
	}
	var locals []string
	var sites []*federation.Verifier
	var cells []*omega.Cell
	for i := range 10 {
		var cfg omega.Config
		for n := range workers / 10 {
			cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint(n), Capacity: resources.Vector{4, 4}})
		}
		cell, err := omega.NewCell(cfg)
		require.NoError(b, err)
		s, err := cell.Register(names[0], omega.Limits{})
		require.NoError(b, err)
		locals = append(locals, fmt.Sprint("local-", i))
		v, err := federation.NewVerifier(federation.Local{
			Name: locals[i], Scheduler: s, Partitions: federation.Split(workers/10, names...), Heartbeat: time.Second,
		})
		require.NoError(b, err)
		sites, cells = append(sites, v), append(cells, cell)
	}
	g, err := federation.New(federation.Config{Name: names[0], Locals: locals, Timeout: time.Hour})
	require.NoError(b, err)
	asks, _ := g.Step(start)
	for i, m := range asks {
		require.NoError(b, sites[i].Receive(m))
		out, _, err := sites[i].Step(b.Context(), start)
		require.NoError(b, err)
		for _, m := range out {
			require.NoError(b, g.Receive(m))
		}
	}
	return g, sites, cells
}

// A match finds a machine, charges the user and adds the launch to a batch; what is sent
// is part of it. Full is how many of the workers are taken before.
func BenchmarkMatch(b *testing.B) {
	for _, workers := range []int{1000, 50_000} {
		for _, full := range []float64{0, 0.5, 0.9} {
			b.Run(fmt.Sprintf("workers=%d/full=%v", workers, full), func(b *testing.B) {
				g, _, _ := wide(b, workers, 10)
				fill := int(full * float64(workers))
				if fill > 0 {
					require.NoError(b, g.Submit(federation.Job{Name: "fill", User: "u", Tasks: fill, Need: resources.Vector{4, 3}}))
					g.Step(start)
				}
				rest := workers - fill
				b.ReportAllocs()
				matched := 0
				for b.Loop() {
					b.StopTimer()
					require.NoError(b, g.Submit(federation.Job{Name: fmt.Sprint(matched), User: "u", Tasks: rest / 10, Need: resources.Vector{4, 2}}))
					b.StartTimer()
					g.Step(start)
					matched += rest / 10
					if g.Stats().Waiting > 0 || matched+rest/10 > rest {
						b.StopTimer()
						g, _, _ = wide(b, workers, 10)
						if matched = 0; fill > 0 {
							require.NoError(b, g.Submit(federation.Job{Name: "fill", User: "u", Tasks: fill, Need: resources.Vector{4, 3}}))
							g.Step(start)
						}
						b.StartTimer()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(rest/10)), "ns/match")
			})
		}
	}
}

// A match allocates nothing of its own: the objects of a step are those of the job, of its
// batches of a hundred launches, and of the messages.
func TestMatch_AllocatesNothing(t *testing.T) {
	g, _, _ := wide(t, 5000, 10)
	jobs := 0
	objects := func(tasks int) float64 {
		return testing.AllocsPerRun(1, func() {
			jobs++
			require.NoError(t, g.Submit(federation.Job{Name: fmt.Sprint(jobs), User: "u", Tasks: tasks, Need: resources.Vector{4, 2}}))
			g.Step(start)
		})
	}
	few, many := objects(100), objects(2000)
	require.Zero(t, g.Stats().Waiting)
	require.LessOrEqual(t, (many-few)/1900, 0.06, "%v objects with 100 tasks, %v with 2,000", few, many)
}

// A heartbeat of 10 cells in which a part of the machines has changed.
func BenchmarkHeartbeat(b *testing.B) {
	for _, changed := range []float64{0, 0.01, 0.1, 1} {
		b.Run(fmt.Sprintf("workers=50000/changed=%v", changed), func(b *testing.B) {
			g, sites, cells := wide(b, 50_000, 10)
			now := start
			var others []*omega.Scheduler
			for _, cell := range cells {
				s, err := cell.Register("other", omega.Limits{})
				require.NoError(b, err)
				others = append(others, s)
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				now = now.Add(time.Second)
				var beats []federation.Message
				for i, s := range others {
					n := 0
					for m := range cells[i].Machines() {
						if n++; float64(n) > changed*5000 {
							break
						}
						var tx omega.Txn
						tx.Claim(omega.Claim{Machine: m.ID, Need: resources.Vector{1}})
						_, err := s.Commit(&tx)
						require.NoError(b, err)
						id, ok := tx.Allocation(0)
						require.True(b, ok)
						require.NoError(b, s.Release(id))
					}
					out, _, err := sites[i].Step(b.Context(), now)
					require.NoError(b, err)
					beats = append(beats, out...)
				}
				b.StartTimer()
				for _, m := range beats {
					if g.Receive(m) != nil {
						b.Fatal("refused")
					}
				}
			}
		})
	}
}
