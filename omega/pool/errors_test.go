package pool_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// raw is a vector as fmt prints it.
var raw = regexp.MustCompile(`\[-?\d+( -?\d+)+\]`)

// readsWell requires that an error names its package once, in front, and no vector by
// position.
func readsWell(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	text := err.Error()
	require.True(t, strings.HasPrefix(text, "pool: "), text)
	for _, name := range []string{"pool: ", "omega: ", "drf: ", "delay: ", "resources: "} {
		require.Equal(t, name == "pool: ", strings.Contains(text, name), text)
		require.LessOrEqual(t, strings.Count(text, name), 1, text)
	}
	require.NotRegexp(t, raw, text)
}

func TestErrors_NameThePackageOnceAndNoRawVector(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4, 8)})
	l := acquire(t, p, "a", 1)
	release(t, l)
	try := func(need ...int64) error {
		_, err := p.TryAcquire("a", v(need...))
		return err
	}
	config := func(cfg pool.Config) error {
		_, err := pool.New(cfg)
		return err
	}
	_, none := p.AcquireAll(t.Context(), "a", nil)
	_, both := p.AcquireAll(t.Context(), "a", []resources.Vector{v(5), v(5)})
	_, node := p.TryAcquire("a", v(1), 2)
	full := acquire(t, p, "a", 8)
	noRoom := try(8)
	release(t, full)
	tests := map[string]struct {
		err  error
		text string
	}{
		"need":              {pool.ErrNeed, "need can never be met"},
		"room":              {pool.ErrNoRoom, "no room now"},
		"closed":            {pool.ErrClosed, "the pool is closed"},
		"lease":             {pool.ErrReleased, "lease is already released"},
		"configuration":     {pool.ErrConfig, "invalid configuration"},
		"name":              {pool.ErrName, "invalid tenant name"},
		"node":              {pool.ErrNode, "unknown node"},
		"a zero need":       {try(0), "need can never be met: it is nothing"},
		"a negative need":   {try(-1), "need: invalid quantity: kind 0 is -1"},
		"too large a need":  {try(9), "need can never be met: cpu=9m does not fit on any machine"},
		"no need":           {none, "need can never be met: there are none"},
		"two needs":         {both, "need can never be met: cpu=5m + cpu=5m do not fit"},
		"no room":           {noRoom, "no room now: need cpu=8m"},
		"an unknown node":   {node, "unknown node: preferred node 2"},
		"a second release":  {l.Release(), "lease is already released: a: cpu=1m"},
		"a bad weight":      {p.SetWeight("a", -1), `tenant "a": `},
		"an empty name":     {p.SetWeight("", 1), "tenant: invalid name: it is empty"},
		"a machine twice":   {config(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: v(1)}, {Name: "m", Capacity: v(1)}}}), "invalid configuration: Machines: "},
		"a bad capacity":    {config(pool.Config{Machines: machines(-1)}), "invalid configuration: Machines: "},
		"a negative wait":   {config(pool.Config{Machines: machines(1), Delay: delay.Policy{Waits: delay.Waits{-1}}}), "invalid configuration: Delay: "},
		"a configured name": {config(pool.Config{Machines: machines(1), Weights: map[string]float64{"a\nb": 1}}), "invalid configuration: Weights: tenant: invalid name: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			readsWell(t, tt.err)
			require.ErrorContains(t, tt.err, "pool: "+tt.text)
		})
	}
	require.ErrorIs(t, p.SetWeight("a", -1), drf.ErrWeight)
}

// One rule for names, wherever one comes in.
func TestPool_RefusesWhatIsNoName(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	for what, name := range map[string]string{
		"empty": "", "NUL": "a\x00", "line break": "a\nb", "no UTF-8": "a\xff", "too long": strings.Repeat("a", 257),
	} {
		_, acquire := p.Acquire(t.Context(), name, v(1))
		_, all := p.AcquireAll(t.Context(), name, []resources.Vector{v(1)})
		_, try := p.TryAcquire(name, v(1))
		_, config := pool.New(pool.Config{Machines: machines(1), Weights: map[string]float64{name: 1}})
		for _, err := range []error{acquire, all, try, p.SetWeight(name, 1), config} {
			require.ErrorIs(t, err, pool.ErrName, what)
			require.ErrorIs(t, err, resources.ErrName, what)
			require.Less(t, len(err.Error()), 300)
			readsWell(t, err)
		}
	}
	require.Empty(t, p.Stats().Tenants)
	release(t, acquire(t, p, strings.Repeat("ä", 128), 1))
}

// A gang that waits names the needs for which there is no room beside the others.
func TestWaiters_NameWhatAGangMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4)})
		l := acquire(t, p, "a", 3)
		got := make(chan []*pool.Lease)
		go func() {
			leases, err := p.AcquireAll(t.Context(), "b", []resources.Vector{v(3), v(1), v(4)})
			if err == nil {
				got <- leases
			}
		}()
		synctest.Wait()
		require.Equal(t, "needs cpu=3m + cpu=1m + cpu=4m at once, missing room for cpu=4m", p.Waiters()[0].Reason)
		release(t, l)
		release(t, <-got...)
		time.Sleep(time.Second)
	})
}
