package composition_test

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// teamPart is one elastic job at the lowest precedence, which grows into idle room.
type teamPart struct {
	*book
	w    *world
	team *elastic.Team
	want elastic.Worker
	born map[omega.AllocationID]time.Time
}

func (w *world) addTeam() {
	p := &teamPart{book: w.book(w.scheduler("elastic", omega.Limits{Held: &resources.Vector{60, 60}, Lowest: -2, Highest: -1})), w: w, born: map[omega.AllocationID]time.Time{}}
	p.want = elastic.Worker{
		Query: omega.Query{Need: resources.Vector{1, 1}}, Place: omega.NextFit(), Precedence: -1, Extra: -2, Account: w.accounts[2],
	}
	var err error
	if p.team, err = elastic.NewTeam(4, p.want); err != nil {
		w.t.Fatal(err)
	}
	w.parts = append(w.parts, p)
}

func (p *teamPart) run(ctx context.Context) error {
	work := elastic.MapReduce{Maps: 100, MapWork: 100 * time.Minute}
	for pause(ctx, time.Second) {
		var ended []omega.AllocationID
		for mark := range p.scheduler.Marked() {
			ended = append(ended, mark.Allocation.ID)
		}
		for id, born := range p.born {
			if time.Since(born) > longest-2*time.Second && !slices.Contains(ended, id) {
				ended = append(ended, id)
			}
		}
		for _, id := range ended {
			delete(p.born, id)
			p.team.Drop(id)
			if err := p.scheduler.Release(id); err != nil {
				return err
			}
		}
		n := 0
		if p.w.arriving() {
			p.scheduler.Snapshot().Refresh(time.Now())
			room, err := elastic.Look(p.scheduler.Snapshot(), p.want.Query)
			if err != nil {
				return err
			}
			plan, err := elastic.Policy{Cap: 80}.Plan(elastic.Job{
				Need: p.want.Query.Need, Asked: 4, Held: p.team.Len(), Most: 100, Model: work.Time,
			}, room)
			if err != nil {
				return err
			}
			n = plan.Workers
		}
		if err := p.team.Resize(ctx, omega.Local{Scheduler: p.scheduler}, time.Now(), n); err != nil {
			return err
		}
		kept := map[omega.AllocationID]time.Time{}
		for id := range p.team.Workers() {
			if kept[id] = time.Now(); !p.born[id].IsZero() {
				kept[id] = p.born[id]
			}
		}
		p.born = kept
	}
	return nil
}

// check compares the workers of the team with the cell.
func (p *teamPart) check() {
	live := map[omega.AllocationID]bool{}
	for a := range p.scheduler.Allocations() {
		live[a.ID] = true
	}
	for id := range p.team.Workers() {
		delete(live, id)
	}
	for m := range p.scheduler.Marked() {
		delete(live, m.Allocation.ID)
	}
	for id := range live {
		p.w.t.Errorf("elastic: allocation %v is no worker's", id)
	}
	for a := range p.scheduler.Allocations() {
		if a.Account != p.want.Account || a.Need != p.want.Query.Need {
			p.w.t.Errorf("elastic: worker %v, want %v of account %d", a, p.want.Query.Need, p.want.Account)
		}
	}
}
