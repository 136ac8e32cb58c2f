package composition_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

	guaranteed resources.Vector

	mu      sync.Mutex
	handle  *offers.Framework
	held    map[omega.AllocationID]task
	ended   []ended
	revoked map[omega.AllocationID]resources.Vector // tasks that are to be preempted
	queue   []offered
	asked   map[offers.RequestID]offered
	waited  []wait
}

// ended is a task that a framework has ended, and the master may not know of yet.
type ended struct {
	at   time.Time
	need resources.Vector
}

// guarantees are those of the frameworks. The first one has others revoked for its requests.
var guarantees = []resources.Vector{{3 * largest, 3 * largest}, {2 * largest, 3 * largest}, {}}

// offered is a task of a framework, and since when it waits.
type offered struct {
	name     string
	need     resources.Vector // on each machine
	machines int
	since    time.Time

	revokes bool // its request may take the room of others
}

func (w *world) addFrameworks() {
	master, err := offers.New(w.cell, offers.Config{Grace: offers.For(grace)}, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	p := &offersPart{w: w, master: master}
	for i, most := range guarantees {
		p.frameworks = append(p.frameworks, &framework{
			w: w, index: i, guaranteed: most, rand: w.source(), ran: w.source(),
			held:    map[omega.AllocationID]task{},
			revoked: map[omega.AllocationID]resources.Vector{},
			asked:   map[offers.RequestID]offered{},
		})
	}
	w.parts = append(w.parts, p)
}

func (p *offersPart) run(ctx context.Context) error {
	var members []live.Member
	for i, f := range p.frameworks {
		r := offers.Registration{
			Name: fmt.Sprint("framework-", i), Role: fmt.Sprint("role-", i%2), Account: p.w.accounts[i], Guaranteed: f.guaranteed,
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
	for n := 0; f.w.arriving(); n++ {
		if !pause(ctx, time.Duration(f.rand.ExpFloat64()*float64(300*time.Millisecond))) {
			return
		}
		f.mu.Lock()
		handle := f.handle
		if handle != nil {
			one := offered{name: fmt.Sprint("framework ", f.index, " task ", n), need: someNeed(f.rand), machines: 1, since: time.Now()}
			if one.need[0] == largest {
				one.machines += n % 2
			}
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

// want asks for the room of large tasks, and has others wait for offers. The first framework
// asks within its guarantee as long as it can.
func (f *framework) want(h *offers.Framework, one offered) error {
	if one.need[0] < largest {
		f.queue = append(f.queue, one)
		return nil
	}
	r := offers.Request{Machines: one.machines, Each: one.need, Revoke: f.index == 0}
	judged, within := f.covers(h, &r)
	id, err := h.Request(time.Now(), r)
	if again, still := f.covers(h, &r); r.Revoke && judged && again && within == still && within != (err == nil) {
		f.w.t.Errorf("framework %d: request of %v on %d machines, within its guarantee: %v, got %v", f.index, r.Each, r.Machines, within, err)
	}
	if one.revokes = err == nil && r.Revoke; errors.Is(err, offers.ErrExceeds) && r.Revoke {
		r.Revoke = false
		id, err = h.Request(time.Now(), r)
	}
	f.asked[id] = one
	return err
}

// covers reports whether a request is within the guarantee of the framework, and false for
// judged while others that revoke are open: they may have been answered.
func (f *framework) covers(h *offers.Framework, r *offers.Request) (judged, within bool) {
	for _, one := range f.asked {
		if one.revokes {
			return false, false
		}
	}
	_, most := h.Held()
	for a := range h.Tasks() {
		most = most.Add(a.Need)
	}
	return true, most.Add(r.Each.Scale(int64(r.Machines))).Fits(f.guaranteed)
}

// news answers the offers of the framework.
func (f *framework) news(_ context.Context, h *offers.Framework, news offers.News) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle = h
	f.revocations(news)
	for _, m := range news.Tasks {
		time.AfterFunc(time.Until(m.Until)/2, func() { f.end(m.Allocation.ID) })
	}
	for _, a := range news.Answers {
		one := f.asked[a.Request]
		delete(f.asked, a.Request)
		if a.Reason != nil {
			f.w.t.Errorf("request of %v: %v", one, a.Reason)
		}
		one.machines = 1
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

// revocations checks that the framework keeps its guarantee of each kind that it is to lose.
func (f *framework) revocations(news offers.News) {
	if f.index == 0 && len(news.Revoked) > 0 {
		f.w.t.Errorf("framework 0: %v is revoked, no other one revokes", news.Revoked)
	}
	for _, a := range news.Spared {
		delete(f.revoked, a.ID)
	}
	for _, n := range news.Revoked {
		f.revoked[n.Task.ID] = n.Task.Need
	}
	var left, lost resources.Vector
	for _, of := range f.held {
		left = left.Add(of.need)
	}
	for _, e := range f.ended {
		if e.at.Equal(time.Now()) {
			left = left.Add(e.need)
		}
	}
	for _, need := range f.revoked {
		lost = lost.Add(need)
	}
	left, _ = left.Sub(lost)
	if len(news.Revoked) > 0 && !f.guaranteed.Fits(left) {
		f.w.t.Errorf("framework %d: %v is left of its guarantee of %v, now that %v is revoked", f.index, left, f.guaranteed, news.Revoked)
	}
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
	of, ok := f.held[id]
	delete(f.held, id)
	delete(f.revoked, id)
	f.ended = append(f.ended, ended{time.Now(), of.need})
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
	first := p.frameworks[0]
	var most resources.Vector // that the framework would hold
	for a := range first.handle.Tasks() {
		most = most.Add(a.Need)
	}
	for _, one := range first.asked {
		if one.revokes {
			most = most.Add(one.need.Scale(int64(one.machines)))
		}
	}
	for _, one := range first.asked {
		if !one.revokes || one.machines > 1 || time.Since(one.since) <= answer || !most.Fits(first.guaranteed) {
			continue
		}
		room := map[omega.MachineID]resources.Vector{}
		for m := range p.w.cell.Machines() {
			if m.Condition == omega.Ready && m.Reserved == (resources.Vector{}) {
				room[m.ID] = m.Free
			}
		}
		for _, f := range p.frameworks[1:] {
			for id, spared := range f.spares() {
				if free, ok := room[id]; ok {
					free = free.Add(spared)
					if room[id] = free; resources.Fits(&one.need, &free) {
						return true
					}
				}
			}
		}
	}
	return false
}

// spares returns the tasks of each machine that a framework could lose all of.
func (f *framework) spares() map[omega.MachineID]resources.Vector {
	var all resources.Vector
	on := map[omega.MachineID]resources.Vector{}
	for a := range f.handle.Tasks() {
		all, on[a.Machine] = all.Add(a.Need), on[a.Machine].Add(a.Need)
	}
	for _, need := range f.revoked {
		all, _ = all.Sub(need)
	}
	maps.DeleteFunc(on, func(_ omega.MachineID, sum resources.Vector) bool {
		left, _ := all.Sub(sum)
		return !f.guaranteed.Fits(left)
	})
	return on
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
