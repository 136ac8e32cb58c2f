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

	mu     sync.Mutex
	handle *offers.Framework
	held   map[omega.AllocationID]resources.Vector
	queue  []offered
	asked  map[offers.RequestID]offered
	waited []wait
}

// offered is a task of a framework, and since when it waits.
type offered struct {
	name  string
	need  resources.Vector
	since time.Time
}

func (w *world) addFrameworks() {
	master, err := offers.New(w.cell, offers.Config{}, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	p := &offersPart{w: w, master: master}
	for i := range 3 {
		p.frameworks = append(p.frameworks, &framework{
			w: w, index: i, rand: w.source(), ran: w.source(),
			held:  map[omega.AllocationID]resources.Vector{},
			asked: map[offers.RequestID]offered{},
		})
	}
	w.parts = append(w.parts, p)
}

func (p *offersPart) run(ctx context.Context) error {
	var members []live.Member
	for i, f := range p.frameworks {
		members = append(members, live.Member{
			Registration: offers.Registration{Name: fmt.Sprint("framework-", i), Role: fmt.Sprint("role-", i%2)},
			Handle:       f.news,
		})
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
			task := offered{fmt.Sprint("framework ", f.index, " task ", n), someNeed(f.rand), time.Now()}
			if err := f.want(handle, task); err != nil {
				f.w.t.Errorf("%s: %v", task.name, err)
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

// want asks for the room of a large task, and has others wait for offers.
func (f *framework) want(h *offers.Framework, task offered) error {
	if task.need[0] < largest {
		f.queue = append(f.queue, task)
		return nil
	}
	id, err := h.Request(time.Now(), offers.Request{Machines: 1, Each: task.need})
	f.asked[id] = task
	return err
}

// news answers the offers of the framework.
func (f *framework) news(_ context.Context, h *offers.Framework, news offers.News) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle = h
	for _, m := range news.Tasks {
		time.AfterFunc(time.Until(m.Until)/2, func() { f.end(m.Allocation.ID) })
	}
	for _, a := range news.Answers {
		task := f.asked[a.Request]
		delete(f.asked, a.Request)
		if a.Reason != nil {
			f.w.t.Errorf("request of %v: %v", task, a.Reason)
		}
		for _, o := range a.Offers {
			if err := f.launch(h, o, []offered{task}); err != nil {
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
	for _, task := range f.queue {
		if resources.Fits(&task.need, &room) {
			room, _ = room.Sub(task.need)
			take = append(take, task)
		} else {
			rest = append(rest, task)
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
		for _, task := range take {
			if err := f.want(h, task); err != nil {
				return err
			}
		}
		return gone(err)
	}
	for i, id := range ids {
		f.held[id] = take[i].need
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
		if err := f.handle.Release(time.Now(), id); err != nil {
			f.w.t.Errorf("framework %d: %v", f.index, err)
		}
	}
}

func (p *offersPart) check() {
	for _, f := range p.frameworks {
		f.mu.Lock()
		live := map[omega.AllocationID]resources.Vector{}
		for a := range f.handle.Tasks() {
			live[a.ID] = a.Need
		}
		for id := range live {
			if _, ok := f.held[id]; !ok {
				p.w.t.Errorf("framework %d: task %v is unknown to it", f.index, id)
			}
		}
		f.mu.Unlock()
	}
}

func (p *offersPart) waits() (open int, done []wait) {
	for _, f := range p.frameworks {
		f.mu.Lock()
		done = append(done, f.waited...)
		for _, task := range f.queue {
			done = append(done, wait{task.name + " (waits)", time.Since(task.since)})
		}
		for _, task := range f.asked {
			done = append(done, wait{task.name + " (asked, waits)", time.Since(task.since)})
		}
		open += len(f.queue) + len(f.asked)
		f.mu.Unlock()
	}
	return open, done
}
