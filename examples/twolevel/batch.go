package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// errDone ends the batch when all is well.
var errDone = errors.New("the batch is done")

// batch is the framework that waits to be offered workers, and takes all of each.
type batch struct {
	end     func(error) // ends the batch, even with pieces that run
	next    int         // piece to start: only handle looks at it
	running sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	done   int
	primes int
}

// handle starts as many pieces as fit in the offers.
func (b *batch) handle(_ context.Context, f *offers.Framework, news offers.News) error {
	for _, o := range news.Offers {
		n := min(int(o.Room[0]), pieces-b.next)
		if n == 0 {
			if err := f.Decline(time.Now(), offers.Span{}, o.ID); err != nil && !hasEnded(err) {
				return err
			}
			continue
		}
		tasks := make([]offers.Task, n)
		for i := range tasks {
			tasks[i].Need = resources.Vector{1}
		}
		started, err := f.Accept(time.Now(), offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: tasks})
		if hasEnded(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, id := range started {
			piece := b.next
			b.next++
			b.running.Go(func() { b.work(f, id, piece) })
		}
	}
	if b.next == pieces {
		return f.Suppress(time.Now())
	}
	return nil
}

// hasEnded reports whether an answer came too late: an offer may be rescinded, or expire,
// at any time. That is no failure, and says nothing about the other offers.
func hasEnded(err error) bool {
	return errors.Is(err, offers.ErrRescinded) || errors.Is(err, offers.ErrExpired)
}

// work is a task: it counts, and gives its slot back, which is offered at once.
func (b *batch) work(f *offers.Framework, id omega.AllocationID, piece int) {
	primes := count(piece)
	if err := f.Release(time.Now(), id); err != nil {
		b.end(err)
		return
	}
	b.mu.Lock()
	b.primes += primes
	b.done++
	last := b.done == pieces
	b.mu.Unlock()
	if last {
		b.end(errDone)
	}
}
