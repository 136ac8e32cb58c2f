package resources_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cellsched/cellsched/resources"
)

// pairs is how many operands a benchmark goes through: enough that the
// compiler knows none of them, few enough to stay in the first-level cache.
const pairs = 64

// operands returns seeded demands that all fit in the room beside them, which
// is the longest way through Fits and Sub.
func operands() (demand, room [pairs]resources.Vector) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range pairs {
		for k := range resources.MaxKinds {
			demand[i][k] = 1 + r.Int64N(1<<20)
			room[i][k] = 1<<20 + r.Int64N(1<<40)
		}
	}
	return demand, room
}

// BenchmarkVector reports the time of one operation, though each turn of b.Loop
// does all pairs: the loop's own work would be a good part of the small ones.
// Every operation leaves one number, which depends on its result.
func BenchmarkVector(b *testing.B) {
	demand, room := operands()
	tests := []struct {
		op  string
		run func(demand, room *[pairs]resources.Vector) int64
	}{
		{"Add", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				v := room[i].Add(demand[i])
				sum += v[i%resources.MaxKinds]
			}
			return sum
		}},
		{"Sub", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				if v, ok := room[i].Sub(demand[i]); ok {
					sum += v[i%resources.MaxKinds]
				}
			}
			return sum
		}},
		{"Fits", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				if demand[i].Fits(room[i]) {
					sum++
				}
			}
			return sum
		}},
		{"FitsInMemory", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				if resources.Fits(&demand[i], &room[i]) {
					sum++
				}
			}
			return sum
		}},
		{"Max", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				v := room[i].Max(demand[i])
				sum += v[i%resources.MaxKinds]
			}
			return sum
		}},
		{"Min", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				v := room[i].Min(demand[i])
				sum += v[i%resources.MaxKinds]
			}
			return sum
		}},
		{"Scale", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				v := demand[i].Scale(room[i][0])
				sum += v[i%resources.MaxKinds]
			}
			return sum
		}},
		{"DominantShare", func(demand, room *[pairs]resources.Vector) (sum int64) {
			for i := range pairs {
				_, kind, _ := demand[i].DominantShare(room[i])
				sum += int64(kind)
			}
			return sum
		}},
	}
	for _, tt := range tests {
		b.Run("op="+tt.op, func(b *testing.B) {
			sum := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				sum += tt.run(&demand, &room)
			}
			if sum == 0 {
				b.Fatal("nothing was computed")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pairs, "ns/op")
		})
	}
}

// BenchmarkSpace is the cost of a message, off the hot path.
func BenchmarkSpace(b *testing.B) {
	s := usual(b)
	v := resources.Vector{500, 2 << 30, 1}
	text := s.Format(v)
	b.Run("op=Format", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Format(v)
		}
	})
	b.Run("op=Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
