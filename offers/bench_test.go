package offers_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

var large = resources.Vector{64_000, 256 << 30, 8}

// BenchmarkRound measures a round in which so many machines are offered that a framework
// has just left, of 5,000 and 200 frameworks in ten roles. With filters one of them can
// use all machines and the others none, or one each. With one each it is the same with
// ten times as many frameworks.
func BenchmarkRound(b *testing.B) {
	for _, filters := range []string{"none", "labels", "minimum", "one"} {
		for _, changed := range []int{1, 50, 5000} {
			for _, frameworks := range []int{200, 2000} {
				if frameworks > 200 && (filters != "one" || changed < 5000) {
					continue
				}
				b.Run(fmt.Sprintf("machines=5000/frameworks=%d/filters=%s/changed=%d", frameworks, filters, changed), func(b *testing.B) {
					benchmarkRound(b, frameworks, 10, filters, changed)
				})
			}
		}
	}
}

// BenchmarkRound_OfOneRole measures a round of BenchmarkRound in which all frameworks
// are of one role.
func BenchmarkRound_OfOneRole(b *testing.B) {
	for _, frameworks := range []int{200, 2000, 10_000} {
		for _, changed := range []int{50, 5000} {
			b.Run(fmt.Sprintf("machines=5000/frameworks=%d/changed=%d", frameworks, changed), func(b *testing.B) {
				benchmarkRound(b, frameworks, 1, "none", changed)
			})
		}
	}
}

func benchmarkRound(b *testing.B, count, roles int, filters string, changed int) {
	b.Helper()
	cell, machines := newCell(b, 5000, large)
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(b, err)
	held := fill(b, other, machines)
	m := newMaster(b, cell, offers.Config{Timeout: offers.Never()})
	frameworks := make([]*offers.Framework, count)
	for i := range frameworks {
		r := offers.Registration{Name: fmt.Sprint(i), Role: fmt.Sprint(i % roles), Weight: float64(1 + i%3)}
		if filters != "none" {
			r.Outstanding = 1
		}
		if i < len(frameworks)-1 {
			switch filters {
			case "labels":
				r.Labels = map[string][]string{"gpu": nil}
			case "minimum":
				r.Minimum = large.Scale(2)
			case "one":
				r.Machines = make(omega.Mask, 79)
				r.Machines[78] = 1 << (i % 8) // the last ones
			}
		}
		frameworks[i] = register(b, m, r)
	}
	now := start
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for _, a := range held[:changed] {
			require.NoError(b, other.Release(a))
		}
		now = now.Add(time.Second)
		b.StartTimer()
		require.NoError(b, m.Step(now))
		b.StopTimer()
		require.NoError(b, m.SetTerms(now, offers.Terms{Machines: omega.Mask{0}})) // no machine
		made := 0
		for _, f := range frameworks {
			made += takeAll(b, f)
		}
		require.Equal(b, changed, made)
		copy(held, fill(b, other, machines[:changed]))
		require.NoError(b, m.SetTerms(now, offers.Terms{}))
		b.StartTimer()
	}
}

// fill takes the machines as a whole.
func fill(b *testing.B, s *omega.Scheduler, machines []omega.MachineID) []omega.AllocationID {
	b.Helper()
	var tx omega.Txn
	for _, m := range machines {
		tx.Claim(omega.Claim{Machine: m, Need: large})
	}
	granted, err := s.Commit(&tx)
	require.NoError(b, err)
	require.Equal(b, len(machines), granted)
	held := make([]omega.AllocationID, len(machines))
	for i := range held {
		held[i], _ = tx.Allocation(i)
	}
	return held
}

// BenchmarkAccept measures an accept of one offer with one task, which takes all
// of it, or leaves something that goes to another framework at once.
func BenchmarkAccept(b *testing.B) {
	tests := []struct {
		name string
		task resources.Vector
	}{
		{"none", large},
		{"offered", resources.Vector{1000, 4 << 30, 0}},
	}
	for _, test := range tests {
		b.Run("rest="+test.name, func(b *testing.B) {
			cell, _ := newCell(b, 5000, large)
			m := newMaster(b, cell, offers.Config{})
			first := register(b, m, offers.Registration{Name: "first", Outstanding: 1})
			second := register(b, m, offers.Registration{Name: "second", Outstanding: 1})
			tasks := []offers.Task{{Need: test.task}}
			require.NoError(b, first.Suppress(start))
			queue := ids(read(b, first, start).Offers)
			var running []omega.AllocationID
			b.ReportAllocs()
			for b.Loop() {
				if len(queue) == 0 {
					b.StopTimer()
					require.NoError(b, second.Suppress(start))
					takeAll(b, second)
					require.NoError(b, first.Release(start, running...))
					require.NoError(b, first.Revive(start))
					require.NoError(b, first.Suppress(start))
					queue, running = ids(read(b, first, start).Offers), running[:0]
					require.Len(b, queue, 5000)
					require.NoError(b, second.Revive(start))
					b.StartTimer()
				}
				last := len(queue) - 1
				started, err := first.Accept(start, offers.Launch{Offers: queue[last:], Tasks: tasks})
				if err != nil {
					b.Fatal(err)
				}
				queue, running = queue[:last], append(running, started...)
			}
		})
	}
}

// BenchmarkDecline measures how one of 20 frameworks, each in its turn, is offered 1,000
// machines when it revives, and declines 990 of them. The 19 others are offered these at
// once, or do not want them. It accepts the other ten.
func BenchmarkDecline(b *testing.B) {
	const machines, used = 1000, 10
	for _, name := range []string{"offered=1000", "declined=990/rest=idle", "declined=990/rest=offered"} {
		b.Run(name, func(b *testing.B) {
			cell, _ := newCell(b, machines, large)
			m := newMaster(b, cell, offers.Config{})
			all := make([]*offers.Framework, 20)
			for i := range all {
				all[i] = register(b, m, offers.Registration{Name: fmt.Sprint(i), Role: fmt.Sprint(i % 10), Outstanding: 1})
				require.NoError(b, all[i].Suppress(start))
				takeAll(b, all[i])
			}
			others := func(of *offers.Framework, do func(f *offers.Framework)) {
				for _, f := range all {
					if f != of && name == "declined=990/rest=offered" {
						do(f)
					}
				}
			}
			revives := name == "offered=1000"
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				f := all[i%len(all)]
				if !revives {
					b.StopTimer()
				}
				if err := f.Revive(start); err != nil {
					b.Fatal(err)
				}
				if revives {
					b.StopTimer()
				}
				require.NoError(b, f.Suppress(start))
				got := ids(read(b, f, start).Offers)
				require.Len(b, got, machines)
				others(f, func(f *offers.Framework) { require.NoError(b, f.Revive(start)) })
				if !revives {
					b.StartTimer()
				}
				if err := f.Decline(start, offers.For(0), got[used:]...); err != nil {
					b.Fatal(err)
				}
				if !revives {
					b.StopTimer()
				}
				others(f, func(f *offers.Framework) { require.NoError(b, f.Suppress(start)) })
				others(f, func(f *offers.Framework) { takeAll(b, f) })
				launches := make([]offers.Launch, used)
				for k := range launches {
					launches[k] = launch(got[k], 1000)
				}
				tasks, err := f.Accept(start, launches...)
				require.NoError(b, err)
				require.NoError(b, f.Release(start, tasks...))
				b.StartTimer()
			}
		})
	}
}

// An accept with one task makes two heap objects, the IDs and the machine's next
// version, and one more if another framework is offered the rest. The bar is four.
func TestAccept_MakesFewHeapObjects(t *testing.T) {
	for name, test := range map[string]struct {
		task resources.Vector
		most float64
	}{
		"nothing is left over":    {large, 2},
		"the rest is for another": {resources.Vector{1000, 4 << 30, 0}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 500
			cell, _ := newCell(t, runs+1, large)
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
			other := register(t, m, offers.Registration{Name: "other", Outstanding: 1})
			require.NoError(t, f.Suppress(start))
			queue := ids(read(t, f, start).Offers)
			require.Len(t, queue, runs+1)
			tasks := []offers.Task{{Need: test.task}}
			var err error
			made := testing.AllocsPerRun(runs, func() {
				last := len(queue) - 1
				if _, failed := f.Accept(start, offers.Launch{Offers: queue[last:], Tasks: tasks}); failed != nil {
					err = failed
				}
				queue = queue[:last]
			})
			require.NoError(t, err)
			require.LessOrEqual(t, made, test.most)
			if test.task != large {
				require.Len(t, read(t, other, start).Offers, runs+1)
			}
		})
	}
}

// BenchmarkAccept_Accounts measures an accept of which the rest goes to another one of
// 200 frameworks, each with an account of its own or all with one.
func BenchmarkAccept_Accounts(b *testing.B) {
	for _, shared := range []bool{false, true} {
		for _, roles := range []int{1, 200} {
			b.Run(fmt.Sprintf("frameworks=200/shared=%t/roles=%d", shared, roles), func(b *testing.B) {
				cell, _ := newCell(b, 1000, large)
				m := newMaster(b, cell, offers.Config{Timeout: offers.Never()})
				all := make([]*offers.Framework, 200)
				for i := range all {
					r := offers.Registration{Name: fmt.Sprint(i), Role: fmt.Sprint(i % roles)}
					if shared {
						r.Account = accountOf(cell, "shared")
					}
					all[i] = register(b, m, r)
				}
				type offered struct {
					f *offers.Framework
					o offers.OfferID
				}
				var queue []offered
				running := make([][]omega.AllocationID, len(all))
				b.ReportAllocs()
				for b.Loop() {
					if len(queue) == 0 {
						b.StopTimer()
						for i, f := range all {
							require.NoError(b, f.Release(start, running[i]...))
							running[i] = running[i][:0]
						}
						for _, f := range all {
							for _, o := range read(b, f, start).Offers {
								queue = append(queue, offered{f, o.ID})
							}
						}
						b.StartTimer()
					}
					next := queue[len(queue)-1]
					queue = queue[:len(queue)-1]
					tasks, err := next.f.Accept(start, launch(next.o, 1))
					if err != nil {
						b.Fatal(err)
					}
					i := slices.Index(all, next.f)
					running[i] = append(running[i], tasks...)
				}
			})
		}
	}
}

// takeAll accepts what f is offered, and ends that.
func takeAll(tb testing.TB, f *offers.Framework) (offered int) {
	tb.Helper()
	news := read(tb, f, start)
	for _, o := range news.Offers {
		tasks, err := f.Accept(start, offers.Launch{
			Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: o.Room}},
		})
		require.NoError(tb, err)
		require.NoError(tb, f.Release(start, tasks...))
	}
	return len(news.Offers)
}

// BenchmarkTurnover measures one task in a full cell from its end until another one has
// started in its place. The task is released, and its room is offered to the framework
// that is next. That framework reads of it and accepts. A hundred thousand tasks run.
func BenchmarkTurnover(b *testing.B) {
	const machines, frameworks = 50_000, 200
	b.Run(fmt.Sprintf("machines=%d/frameworks=%d", machines, frameworks), func(b *testing.B) {
		cell, _ := newCell(b, machines, large)
		m := newMaster(b, cell, offers.Config{})
		half := []offers.Task{{Need: resources.Vector{32_000, 128 << 30, 4}}}
		type running struct {
			f  *offers.Framework
			id omega.AllocationID
		}
		all := make([]*offers.Framework, frameworks)
		var tasks []running
		var news []int // the frameworks that have some
		// startAll lets frameworks with news start a task on each offer.
		startAll := func(now time.Time) {
			for len(news) > 0 {
				f := all[news[0]]
				news = news[1:]
				got, err := f.News(now)
				require.NoError(b, err)
				for _, o := range got.Offers {
					ids, err := f.Accept(now, offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: half})
					if err != nil {
						b.Fatal(err)
					}
					tasks = append(tasks, running{f, ids[0]})
				}
			}
		}
		for i := range all {
			var err error
			all[i], err = m.Register(start, offers.Registration{
				Name: fmt.Sprint(i), Role: fmt.Sprint(i % 10), Notify: func() { news = append(news, i) },
			})
			require.NoError(b, err)
		}
		startAll(start)
		require.Len(b, tasks, 2*machines)
		r := rand.New(rand.NewPCG(1, 2))
		took := make([]time.Duration, 0, b.N)
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		b.ReportAllocs()
		for b.Loop() {
			n := r.IntN(len(tasks))
			t := tasks[n]
			tasks[n] = tasks[len(tasks)-1]
			tasks = tasks[:len(tasks)-1]
			before := time.Now()
			if err := t.f.Release(start, t.id); err != nil {
				b.Fatal(err)
			}
			startAll(start)
			took = append(took, time.Since(before))
		}
		require.Len(b, tasks, 2*machines)
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
		b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "heap-MiB")
	})
}
