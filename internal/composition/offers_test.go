package composition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// offersPart is a master of offers with three frameworks.
type offersPart struct {
	w          *world
	master     *offers.Master
	frameworks []*framework
}

// framework accepts offers that hold its tasks. It requests the room of large ones.
type framework struct {
	w     *world
	rand  *rand.Rand // of the tasks
	ran   *rand.Rand // of how long they run
	index int

	guaranteed bool

	mu     sync.Mutex
	handle *offers.Framework
	held   map[omega.AllocationID]task
	queue  []offered
	asked  map[offers.RequestID]offered
	waited []wait
}

// guaranteed is the guarantee of one framework.
var guaranteed = resources.Vector{3 * largest, 3 * largest}

// offered is a task of a framework, and since when it waits.
type offered struct {
	name  string
	need  resources.Vector
	since time.Time

	revokes bool // its request may take the room of others
}

func (w *world) addFrameworks() {
	master, err := offers.New(w.cell, offers.Config{Grace: offers.For(grace)}, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	p := &offersPart{w: w, master: master}
	for i := range 3 {
		p.frameworks = append(p.frameworks, &framework{
			w: w, index: i, guaranteed: i == 0, rand: w.source(), ran: w.source(),
			held:  map[omega.AllocationID]task{},
			asked: map[offers.RequestID]offered{},
		})
	}
	w.parts = append(w.parts, p)
}

func (p *offersPart) run(ctx context.Context) error {
	var members []live.Member
	for i, f := range p.frameworks {
		r := offers.Registration{Name: fmt.Sprint("framework-", i), Role: fmt.Sprint("role-", i%2), Account: p.w.accounts[i]}
		if f.guaranteed {
			r.Guaranteed = guaranteed
		}
		members = append(members, live.Member{Registration: r, Handle: f.news})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, f := range p.frameworks {
		go f.arrive(ctx)
	}
	return stopped(live.Run(ctx, p.master, live.Config{Failed: func(name string, err error) {
		p.w.t.Errorf("%s: %v", name, err)
	}}, members...))
}

// arrive brings in tasks.
func (f *framework) arrive(ctx context.Context) {
	for n := 0; time.Since(f.w.begin) < arrivals; n++ {
		if !pause(ctx, time.Duration(f.rand.ExpFloat64()*float64(300*time.Millisecond))) {
			return
		}
		f.mu.Lock()
		handle := f.handle
		if handle != nil {
			one := offered{name: fmt.Sprint("framework ", f.index, " task ", n), need: someNeed(f.rand), since: time.Now()}
			if err := f.want(handle, one); err != nil {
				f.w.t.Errorf("%s: %v", one.name, err)
			}
		}
		f.mu.Unlock()
		if handle != nil {
			if err := handle.Revive(time.Now()); err != nil {
				f.w.t.Errorf("revive: %v", err)
			}
		}
	}
}

// want asks for the room of a large task, and has others wait for offers. It asks within its
// guarantee as long as it can.
func (f *framework) want(h *offers.Framework, one offered) error {
	if one.need[0] < largest {
		f.queue = append(f.queue, one)
		return nil
	}
	r := offers.Request{Machines: 1, Each: one.need, Revoke: f.guaranteed}
	id, err := h.Request(time.Now(), r)
	if one.revokes = err == nil && r.Revoke; errors.Is(err, offers.ErrExceeds) && r.Revoke {
		r.Revoke = false
		id, err = h.Request(time.Now(), r)
	}
	f.asked[id] = one
	return err
}

// news answers the offers of the framework.
func (f *framework) news(_ context.Context, h *offers.Framework, news offers.News) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle = h
	if f.guaranteed && len(news.Revoked) > 0 {
		f.w.t.Errorf("framework %d: %v is revoked, no other one has a guarantee", f.index, news.Revoked)
	}
	for _, m := range news.Tasks {
		time.AfterFunc(time.Until(m.Until)/2, func() { f.end(m.Allocation.ID) })
	}
	for _, a := range news.Answers {
		one := f.asked[a.Request]
		delete(f.asked, a.Request)
		if a.Reason != nil {
			f.w.t.Errorf("request of %v: %v", one, a.Reason)
		}
		for _, o := range a.Offers {
			if err := f.launch(h, o, []offered{one}); err != nil {
				return err
			}
		}
	}
	for _, o := range news.Offers {
		if err := f.answer(h, o); err != nil {
			return err
		}
	}
	if len(f.queue) == 0 {
		return h.Suppress(time.Now())
	}
	return nil
}

func (f *framework) answer(h *offers.Framework, o offers.Offer) error {
	var take, rest []offered
	room := o.Room
	for _, one := range f.queue {
		if resources.Fits(&one.need, &room) {
			room, _ = room.Sub(one.need)
			take = append(take, one)
		} else {
			rest = append(rest, one)
		}
	}
	f.queue = rest
	if len(take) == 0 {
		return gone(h.Decline(time.Now(), offers.Span{}, o.ID))
	}
	return f.launch(h, o, take)
}

// launch starts tasks on an offer. If the offer has ended, they wait again.
func (f *framework) launch(h *offers.Framework, o offers.Offer, take []offered) error {
	tasks := make([]offers.Task, len(take))
	for i := range take {
		tasks[i].Need = take[i].need
	}
	ids, err := h.Accept(time.Now(), offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: tasks})
	if err != nil {
		for _, one := range take {
			if err := f.want(h, one); err != nil {
				return err
			}
		}
		return gone(err)
	}
	for i, id := range ids {
		f.held[id] = task{need: take[i].need, account: f.w.accounts[f.index]}
		f.waited = append(f.waited, wait{take[i].name, time.Since(take[i].since)})
		time.AfterFunc(someTime(f.ran), func() { f.end(id) })
	}
	return nil
}

// gone returns nil for an answer that came too late.
func gone(err error) error {
	if errors.Is(err, offers.ErrRescinded) || errors.Is(err, offers.ErrExpired) {
		return nil
	}
	return err
}

func (f *framework) end(id omega.AllocationID) {
	f.mu.Lock()
	_, ok := f.held[id]
	delete(f.held, id)
	f.mu.Unlock()
	if ok {
		if err := f.handle.Release(time.Now(), id); err != nil && !f.w.over.Load() {
			f.w.t.Errorf("framework %d: %v", f.index, err)
		}
	}
}

func (p *offersPart) check() {
	for _, f := range p.frameworks {
		f.mu.Lock()
		for a := range f.handle.Tasks() {
			if got := (task{a.Need, a.Account, a.Precedence}); got != f.held[a.ID] {
				p.w.t.Errorf("framework %d: task %v is %v, want %v", f.index, a.ID, got, f.held[a.ID])
			}
		}
		f.mu.Unlock()
	}
}

// revocable reports whether a request within a guarantee waits while tasks of the other
// frameworks on one machine, and what is free there, would make room for it.
func (p *offersPart) revocable() bool {
	for _, f := range p.frameworks {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.handle == nil {
			return false
		}
	}
	var most resources.Vector // that the framework would hold
	for a := range p.frameworks[0].handle.Tasks() {
		most = most.Add(a.Need)
	}
	for _, one := range p.frameworks[0].asked {
		if one.revokes {
			most = most.Add(one.need)
		}
	}
	for _, one := range p.frameworks[0].asked {
		if !one.revokes || time.Since(one.since) <= answer || !most.Fits(guaranteed) {
			continue
		}
		room := map[omega.MachineID]resources.Vector{}
		for m := range p.w.cell.Machines() {
			if m.Condition == omega.Ready && m.Reserved == (resources.Vector{}) {
				room[m.ID] = m.Free
			}
		}
		for _, f := range p.frameworks[1:] {
			for a := range f.handle.Tasks() {
				if free, ok := room[a.Machine]; ok {
					free = free.Add(a.Need)
					if room[a.Machine] = free; resources.Fits(&one.need, &free) {
						return true
					}
				}
			}
		}
	}
	return false
}

func (p *offersPart) waits() (open int, done []wait) {
	for _, f := range p.frameworks {
		f.mu.Lock()
		done = append(done, f.waited...)
		for _, one := range f.queue {
			done = append(done, wait{one.name + " (waits)", time.Since(one.since)})
		}
		for _, one := range f.asked {
			done = append(done, wait{one.name + " (asked, waits)", time.Since(one.since)})
		}
		open += len(f.queue) + len(f.asked)
		f.mu.Unlock()
	}
	return open, done
}
