package observe_test

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

func tenants(s *observe.Subscription) (names []string) {
	for e := range s.Events() {
		names = append(names, e.Tenant)
	}
	return names
}

func TestStream_PassesEachEventToEachSubscription(t *testing.T) {
	var stream observe.Stream
	require.False(t, stream.Active())
	stream.Tell(observe.Event{Tenant: "before"})
	first := stream.Subscribe(10)
	require.True(t, stream.Active())
	stream.Tell(observe.Event{Tenant: "a"})
	second := stream.Subscribe(10)
	stream.Tell(observe.Event{Tenant: "b"})
	first.Close()
	first.Close()
	require.True(t, stream.Active())
	stream.Tell(observe.Event{Tenant: "c"})
	second.Close()
	require.False(t, stream.Active())
	stream.Tell(observe.Event{Tenant: "after"})
	require.Equal(t, []string{"a", "b"}, tenants(first))
	require.Equal(t, []string{"b", "c"}, tenants(second))
	require.Zero(t, first.Dropped()+second.Dropped())
}

func TestStream_DropsWhatDoesNotFitAndCountsIt(t *testing.T) {
	for size, holds := range map[int]int{-1: 1, 0: 1, 1: 1, 3: 3} {
		var stream observe.Stream
		s, large := stream.Subscribe(size), stream.Subscribe(10)
		for range 5 {
			stream.Tell(observe.Event{Tenant: "a"})
		}
		s.Close()
		large.Close()
		require.Len(t, tenants(s), holds)
		require.EqualValues(t, 5-holds, s.Dropped())
		require.Len(t, tenants(large), 5)
	}
}

func TestSubscribe_PassesTheKindsThatItNames(t *testing.T) {
	var stream observe.Stream
	all, some, one := stream.Subscribe(10), stream.Subscribe(10, observe.Refused, observe.Preempted), stream.Subscribe(1, observe.Preempted)
	for _, e := range []observe.Event{
		{Kind: observe.Granted, Tenant: "a"},
		{Kind: observe.Refused, Tenant: "b"},
		{Kind: observe.Preempted, Tenant: "c"},
		{Kind: observe.Released, Tenant: "d"},
		{Kind: observe.Preempted, Tenant: "e"},
	} {
		stream.Tell(e)
	}
	for _, s := range []*observe.Subscription{all, some, one} {
		require.Same(t, &stream, s.Stream())
		s.Close()
	}
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, tenants(all))
	require.Equal(t, []string{"b", "c", "e"}, tenants(some))
	require.Equal(t, []string{"c"}, tenants(one))
	require.EqualValues(t, 1, one.Dropped(), "of the kinds that it names")
	require.Zero(t, some.Dropped())
}

// Subscriptions come and go while several sources tell events. Each subscription gets
// or counts those of a source in their order, without a gap.
func TestStream_KeepsTheOrderOfEachSource(t *testing.T) {
	const sources, events = 3, 2000
	var stream observe.Stream
	whole := stream.Subscribe(sources * events)
	var all sync.WaitGroup
	for i := range sources {
		all.Go(func() {
			for n := range events {
				stream.Tell(observe.Event{Source: string(rune('a' + i)), Need: resources.Vector{int64(n)}})
			}
		})
	}
	all.Go(func() {
		for range 200 {
			s := stream.Subscribe(4)
			got := 0
			for range 3 {
				select {
				case <-s.Events():
					got++
				default:
				}
			}
			s.Close()
			for range s.Events() {
				got++
			}
			if got > 7 {
				t.Errorf("%d events of a subscription to 4 that was read 3 times", got)
			}
		}
	})
	all.Wait()
	whole.Close()
	next := map[string]int64{}
	for e := range whole.Events() {
		require.Equal(t, next[e.Source], e.Need[0])
		next[e.Source]++
	}
	require.Len(t, next, sources)
	for _, n := range next {
		require.EqualValues(t, events, n)
	}
}

func TestNil(t *testing.T) {
	niltest.Methods(t, (*observe.Stream)(nil), resources.ErrNil, nil)
	niltest.Methods(t, (*observe.Subscription)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(observe.Subscription), resources.ErrNil, nil)
}

func TestEvent_IsALineOfALogWithWhatItSays(t *testing.T) {
	line := func(e observe.Event) string {
		var out bytes.Buffer
		slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey {
				return slog.Attr{}
			}
			return a
		}})).Info("", "event", e)
		return out.String()
	}
	require.Equal(t, "event.kind=released\n", line(observe.Event{Kind: observe.Released}))
	require.Equal(t, "event.kind=refused event.source=pool event.tenant=web event.need=\"kind1=2\" event.error=full\n",
		line(observe.Event{Kind: observe.Refused, Source: "pool", Tenant: "web", Need: resources.Vector{0, 2}, Err: errors.New("full")}))
	require.Equal(t, "event.kind=granted event.label=job-7 event.machine=host event.waited=1s\n",
		line(observe.Event{Kind: observe.Granted, Label: "job-7", Machine: "host", Waited: time.Second}))
	require.Equal(t, "Kind(9)", observe.Kind(9).String())
	require.Equal(t, "preempted", observe.Preempted.String())
}
