package live_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

var howMany = flag.Int("offers", 8_000, "how many offers eight frameworks answer at once")

// Eight frameworks at once on real goroutines: at the end nothing is lost, nothing
// doubled, no framework left. Now and then offers are optimistic for a while, a gang is
// asked for, also at the cost of others, and a standby takes over.
func TestRun_ManyAtOnce(t *testing.T) {
	m, cell := newMaster(t, 40, offers.Config{
		Interval: offers.For(10 * time.Microsecond), Grace: offers.For(100 * time.Microsecond),
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &crowd{t: t, m: m, cell: cell, cancel: cancel, swap: make(chan struct{}, 1)}
	var members []live.Member
	for i := range 7 {
		members = append(members, c.member(i, 0))
	}
	failed := func(name string, err error) { t.Errorf("%s: %v", name, err) }
	var all sync.WaitGroup
	all.Go(func() {
		err := live.Run(ctx, m, live.Config{Interval: time.Millisecond, Failed: failed}, members...)
		require.ErrorIs(t, err, context.Canceled)
	})
	takeovers := uint64(0)
	for ctx.Err() == nil {
		epoch := takeovers
		mine, end := context.WithCancel(ctx)
		all.Go(func() { // the eighth, or a standby of it
			err := live.Run(mine, m, live.Config{Failed: func(name string, err error) {
				if !errors.Is(err, offers.ErrFenced) {
					failed(name, err)
				}
				end()
			}}, c.member(7, epoch))
			if !errors.Is(err, offers.ErrFenced) { // or the next one was faster
				require.ErrorIs(t, err, context.Canceled)
			}
		})
		select {
		case <-c.swap:
			takeovers++
		case <-ctx.Done():
		}
	}
	all.Wait()
	require.GreaterOrEqual(t, c.seen.Load(), int64(*howMany))
	require.Positive(t, takeovers)
	require.Positive(t, c.gangs.Load())
	t.Logf("%d offers, %d stale, %d gangs, %d tasks preempted, %d takeovers",
		c.seen.Load(), c.stale.Load(), c.gangs.Load(), c.preempted.Load(), takeovers)
	require.NoError(t, m.Step(time.Now()))
	require.NoError(t, cell.Check())
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
		require.Zero(t, st.Live)
	}
}

// crowd is the common state of many frameworks that run together.
type crowd struct {
	t                             *testing.T
	m                             *offers.Master
	cell                          *omega.Cell
	cancel                        func()
	swap                          chan struct{} // holds one when a standby is to take over
	seen, stale, gangs, preempted atomic.Int64
}

// one is a framework, of which a standby begins anew.
type one struct {
	*crowd
	f       *offers.Framework
	r       *rand.Rand
	running []omega.AllocationID
}

func (c *crowd) member(i int, epoch uint64) live.Member {
	o := &one{crowd: c, r: rand.New(rand.NewPCG(1+epoch, uint64(i)))}
	r := offers.Registration{Name: fmt.Sprint(i), Role: fmt.Sprint(i % 3), Weight: float64(1 + i%2), Epoch: epoch}
	if i < 2 {
		r.Guaranteed = resources.Vector{80}
	}
	return live.Member{Registration: r, Handle: func(_ context.Context, f *offers.Framework, news offers.News) error {
		if o.f == nil {
			o.f = f
			for a := range f.Tasks() { // of the handle that was there before
				o.running = append(o.running, a.ID)
			}
		}
		return o.handle(news)
	}}
}

func (o *one) handle(news offers.News) error {
	for _, mark := range news.Tasks {
		o.preempted.Add(1)
		if i := slices.Index(o.running, mark.Allocation.ID); i >= 0 {
			if err := o.release(i); err != nil {
				return err
			}
		}
	}
	for _, a := range news.Answers {
		if a.Reason == nil {
			o.gangs.Add(1)
			if err := o.accept(a.Offers...); err != nil {
				return err
			}
		}
	}
	for _, offer := range news.Offers {
		n := o.seen.Add(1)
		if n >= int64(*howMany) {
			o.cancel()
			return nil
		}
		if err := o.stir(n); err != nil {
			return err
		}
		answer := o.accept
		if o.r.IntN(4) == 0 {
			answer = o.decline
		}
		if err := answer(offer); err != nil {
			return err
		}
	}
	for len(o.running) > 8 {
		if err := o.release(o.r.IntN(len(o.running))); err != nil {
			return err
		}
	}
	return nil
}

// stir does now and then what is not an answer.
func (o *one) stir(n int64) error {
	if n%1000 == 0 {
		select {
		case o.swap <- struct{}{}:
		default:
		}
		if err := o.cell.Check(); err != nil {
			return err
		}
	}
	if n%250 == 0 {
		if err := o.m.SetTerms(time.Now(), offers.Terms{Optimistic: n%1000 == 250}); err != nil {
			return err
		}
	}
	if n%40 == 0 {
		now := time.Now()
		r := offers.Request{
			Machines: 2 + o.r.IntN(4), Each: resources.Vector{1 + o.r.Int64N(8)}, Deadline: now.Add(10 * time.Millisecond),
		}
		if o.f.Name() < "2" { // these are guaranteed something
			r.Each, r.Revoke = resources.Vector{10}, true
		}
		_, err := o.f.Request(now, r)
		if !errors.Is(err, offers.ErrExceeds) && !errors.Is(err, offers.ErrExpired) { // too much, or too slow
			return err
		}
	}
	return nil
}

// accept starts a task on each of some offers, on all or none of them.
func (o *one) accept(of ...offers.Offer) error {
	var launches []offers.Launch
	for _, offer := range of {
		need := resources.Vector{1 + o.r.Int64N(offer.Room[0])}
		launches = append(launches, offers.Launch{
			Offers: []offers.OfferID{offer.ID}, Tasks: []offers.Task{{Need: need}},
		})
	}
	tasks, err := o.f.Accept(time.Now(), launches...)
	o.running = append(o.running, tasks...)
	return o.late(err)
}

func (o *one) decline(of ...offers.Offer) error {
	return o.late(o.f.Decline(time.Now(), offers.For(0), of[0].ID))
}

// late lets pass what optimistic offers may fail with, and any that a standby or a
// machine that is to be left has ended.
func (o *one) late(err error) error {
	for _, stale := range []error{omega.ErrConflict, offers.ErrRescinded, offers.ErrUnknown} {
		if errors.Is(err, stale) {
			o.stale.Add(1)
			return nil
		}
	}
	return err
}

func (o *one) release(i int) error {
	err := o.f.Release(time.Now(), o.running[i])
	o.running = slices.Delete(o.running, i, i+1)
	return err
}
