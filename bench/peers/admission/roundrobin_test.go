package admission_test

import "testing"

// roundRobin is the order of Grafana Mimir's query scheduler and of its package workerpool
// (pkg/queue, 2026-05), without shards and with one dimension: first come, first served for a tenant,
// and round robin over tenants. Each worker has a position of its own, the place of
// the tenant that it served last. A tenant without tasks leaves a hole in the list,
// and the next new tenant takes it. It has no weights.
type roundRobin struct {
	queues map[int][]func()
	places []int // tenant, or hole
	served []int // by worker: place of its last tenant
}

const hole = -1

func openRoundRobin(_ *testing.T, slots int, _ []int) fairQueue {
	o := &roundRobin{queues: make(map[int][]func()), served: make([]int, slots)}
	for worker := range o.served {
		o.served[worker] = -1
	}
	return openPulled(slots, o)
}

func (o *roundRobin) push(tenant int, task func()) {
	if len(o.queues[tenant]) == 0 {
		o.enter(tenant)
	}
	o.queues[tenant] = append(o.queues[tenant], task)
}

func (o *roundRobin) enter(tenant int) {
	for i, at := range o.places {
		if at == hole {
			o.places[i] = tenant
			return
		}
	}
	o.places = append(o.places, tenant)
}

func (o *roundRobin) pull(worker int) func() {
	place := o.served[worker]
	for range o.places {
		// No modulo: after the list has shrunk it would skip the places at the beginning.
		if place++; place >= len(o.places) {
			place = 0
		}
		tenant := o.places[place]
		if tenant == hole {
			continue
		}
		o.served[worker] = place
		task := o.queues[tenant][0]
		if o.queues[tenant] = o.queues[tenant][1:]; len(o.queues[tenant]) == 0 {
			o.leave(place)
		}
		return task
	}
	return nil
}

// leave makes a hole. Holes at the end are cut off: places of other tenants do not move.
func (o *roundRobin) leave(place int) {
	o.places[place] = hole
	for n := len(o.places); n > 0 && o.places[n-1] == hole; n = len(o.places) {
		o.places = o.places[:n-1]
	}
}
