package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega/observe"
)

func TestHistogram_HasEachDurationInTheFirstBucketAboveIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, o observe.Histogram
		var sum time.Duration
		all := rapid.SliceOfN(rapid.Int64Range(-10, int64(10*time.Hour)), 1, 20).Draw(t, "durations")
		for i, n := range all {
			d := time.Duration(n)
			sum += max(d, 0)
			if i%2 == 0 {
				h.Add(d)
			} else {
				o.Add(d)
			}
		}
		h.Merge(&o)
		require.Equal(t, sum, h.Sum)
		require.EqualValues(t, len(all), h.Count())
		below := uint64(0)
		for i, n := range h.Buckets[:len(h.Buckets)-1] {
			below += n
			want := uint64(0)
			for _, d := range all {
				if time.Duration(d) < h.Bound(i) {
					want++
				}
			}
			require.Equal(t, want, below, "below %v", h.Bound(i))
		}
		if len(all) == 0 {
			return
		}
		slices.Sort(all)
		q := rapid.Float64Range(-0.5, 1.5).Draw(t, "q")
		rank := int(math.Ceil(min(max(q, 0), 1) * float64(len(all))))
		least, bound := time.Duration(all[max(rank, 1)-1]), h.Quantile(q)
		require.True(t, least < bound || bound == h.Bound(len(h.Buckets)-2), "quantile %v is %v, want above %v", q, bound, least)
		require.True(t, bound/2 <= least || bound == time.Microsecond, "quantile %v is %v, want at most twice %v", q, bound, least)
	})
	var h observe.Histogram
	require.Zero(t, h.Quantile(0.5))
	h.Add(math.MaxInt64)
	require.EqualValues(t, 1, h.Buckets[len(h.Buckets)-1])
}

func TestCounts_AddUp(t *testing.T) {
	var sum observe.Counts
	a := observe.Counts{Name: "a", Commits: 1, Claims: 5, Granted: 2, Retries: 3, Preempted: 4, Waiting: 5, Offers: 6}
	a.Counted.Commits, a.Counted.Offers = true, true
	a.Refuse("full", 1)
	a.Refuse("conflict", 2)
	a.Refuse("never", 0)
	a.Waited.Add(time.Second)
	a.Placed.Add(time.Minute)
	sum.Add(&a)
	sum.Add(&a)
	want := observe.Counts{
		Commits: 2, Claims: 10, Granted: 4, Retries: 6, Preempted: 8, Waiting: 10, Offers: 12,
		Refused: []observe.Refusal{{Reason: "conflict", Count: 4}, {Reason: "full", Count: 2}},
	}
	want.Counted = a.Counted
	sum.Add(&observe.Counts{}) // counts neither
	require.Equal(t, 2*time.Second, sum.Waited.Sum)
	require.EqualValues(t, 2, sum.Placed.Count())
	sum.Waited, sum.Placed = observe.Histogram{}, observe.Histogram{}
	require.Equal(t, want, sum)
	require.EqualValues(t, 1, a.Refused[1].Count, "the sum shares nothing with what was added")
}

func TestLog_WritesEventsAsRecords(t *testing.T) {
	var out bytes.Buffer
	to := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var stream observe.Stream
	s := stream.Subscribe(3)
	stream.Tell(observe.Event{Kind: observe.Round, Source: "flow", Count: 7})
	stream.Tell(observe.Event{Kind: observe.Refused, Tenant: "a\nb", Err: errors.New("full")})
	stream.Tell(observe.Event{Kind: observe.Offered, Machine: "m"})
	stream.Tell(observe.Event{Kind: observe.Offered, Machine: "one too many"})
	s.Close()
	observe.Log(t.Context(), to, s)
	require.Equal(t, `level=DEBUG msg=scheduler event.kind=round event.source=flow event.count=7
level=WARN msg=scheduler dropped=1
level=WARN msg=scheduler event.kind=refused event.tenant="a\nb" event.error=full
level=DEBUG msg=scheduler event.kind=offered event.machine=m
`, out.String())

	out.Reset()
	s = stream.Subscribe(5)
	for range 12 {
		stream.Tell(observe.Event{Kind: observe.Round})
	}
	handled := 0
	slow := slog.New(dropping{to.Handler(), func() {
		if handled++; handled < 40 {
			stream.Tell(observe.Event{Kind: observe.Round})
			stream.Tell(observe.Event{Kind: observe.Round})
		} else {
			s.Close()
		}
	}})
	observe.Log(t.Context(), slow, s)
	var written []string
	for line := range strings.Lines(out.String()) {
		if _, n, found := strings.Cut(line, "dropped="); found {
			written = append(written, strings.TrimSpace(n))
		}
	}
	require.Equal(t, []string{"8", "16", "32", fmt.Sprint(s.Dropped())}, written, "while the handler is slow, and at the end")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	observe.Log(ctx, to, stream.Subscribe(1))
	observe.Log(ctx, to, nil)
}

// dropping is a handler that is told of more events than it handles.
type dropping struct {
	slog.Handler
	handle func()
}

func (d dropping) Handle(ctx context.Context, r slog.Record) error {
	d.handle()
	return d.Handler.Handle(ctx, r)
}

func TestHistogram_HasASumThatDoesNotOverflow(t *testing.T) {
	var h, other observe.Histogram
	h.Add(math.MaxInt64 - 1)
	h.Add(2)
	require.Equal(t, time.Duration(math.MaxInt64), h.Sum)
	other.Add(5)
	other.Merge(&h)
	require.Equal(t, time.Duration(math.MaxInt64), other.Sum)
}

// A quantile is the bound of the duration with the number ⌈q*n⌉.
func TestHistogram_QuantileIsRoundedUp(t *testing.T) {
	var h observe.Histogram
	for _, d := range []time.Duration{0, 1, 4, 16, 64} {
		h.Add(d * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.2: 1, 0.21: 2, 0.5: 8, 0.6: 8, 0.61: 32, 0.99: 128, 1: 128} {
		require.Equal(t, want*time.Microsecond, h.Quantile(q), "%v", q)
	}
}
