package peers_test

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// held is the number of units that are taken while one more is admitted and given back.
// A peer with bookkeeping that costs more with each unit out shows it here.
const held = 10_000

// BenchmarkAdmit measures taking one unit and giving it back, with room left
// and no other request.
func BenchmarkAdmit(b *testing.B) {
	impls := []struct {
		name  string
		setup func(b *testing.B) (admit func())
	}{
		{"pool", admitPool},
		{"xsync-semaphore", admitSemaphore},
		{"channel", admitChannel},
	}
	for _, impl := range impls {
		b.Run(fmt.Sprintf("impl=%s/held=%d", impl.name, held), func(b *testing.B) {
			admit := impl.setup(b)
			b.ReportAllocs()
			for b.Loop() {
				admit()
			}
		})
	}
}

// admitPool is omega/pool on one machine: several kinds of resource, tenants
// and a fair order among them, and every lease known by name.
func admitPool(b *testing.B) func() {
	b.Helper()
	capacity := resources.Vector{2 * held}
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "host", Capacity: capacity}}})
	if err != nil {
		b.Fatal(err)
	}
	one := resources.Vector{1}
	for i := range held {
		if _, ok := p.TryAcquire(fmt.Sprint("tenant-", i%10), one); !ok {
			b.Fatal("no room")
		}
	}
	tenant, err := p.Tenant("tenant-0")
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	return func() {
		lease, err := tenant.Acquire(ctx, one)
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

// admitSemaphore is golang.org/x/sync's weighted semaphore: a mutex, a counter
// and a list of waiters, first come, first served.
func admitSemaphore(b *testing.B) func() {
	b.Helper()
	ctx := b.Context()
	sem := semaphore.NewWeighted(2 * held)
	if !sem.TryAcquire(held) {
		b.Fatal("fresh semaphore refused", held, "units")
	}
	return func() {
		if err := sem.Acquire(ctx, 1); err != nil {
			b.Fatal(err)
		}
		sem.Release(1)
	}
}

// admitChannel is a semaphore as programs write it by hand: a slot is a place in a
// buffered channel. It knows one kind of resource, in units of one.
func admitChannel(b *testing.B) func() {
	b.Helper()
	ctx := b.Context()
	slots := make(chan struct{}, 2*held)
	for range held {
		slots <- struct{}{}
	}
	return func() {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			b.Fatal(context.Cause(ctx))
		}
		<-slots
	}
}
