package loop

import (
	"iter"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
)

// Place finds machines for tasks of a job: it adds claims to the attempt and takes the
// room in its snapshot. [Search.Claim] does both. A Place may name victims. Tasks
// without a machine are left out; a gang that is not complete is then not committed.
//
// Places that are ready to use: [PlaceBy], [PlaceAmong],
// [PlaceOrPreempt], [Near.Place].
type Place[K any] func(*Search[K])

// Search is the part of an attempt in which a [Place] finds machines. It is valid for
// the one call.
type Search[K any] struct {
	Now      time.Time // of the step
	Snapshot *omega.Snapshot
	Job      *Job[K]
	Tasks    int // of the job, to be placed
	Txn      *omega.Txn

	pending *Pending[K] // nil where no loop searches
	passed  bool
	until   time.Time
}

// Claim claims a machine for one task, and takes the room in the snapshot. It returns
// false, and claims nothing, where the snapshot has no room.
func (s *Search[K]) Claim(m omega.MachineID) bool {
	if !s.Snapshot.Take(m, s.Job.Need) {
		return false
	}
	s.Txn.Claim(s.Job.Claim(m))
	return true
}

// PassUp reports that the Place has left out tasks although there is room for them: it
// waits for a better machine. Until is when it may take the room, the zero time if that
// depends on more than time. The job waits until then, until machines change, or for
// a back-off; that is no failed attempt, see [PassedUp].
func (s *Search[K]) PassUp(until time.Time) { s.passed, s.until = true, until }

// PlaceBy returns the Place of a policy: it searches by [Job.Query]. It is for a Place
// of the caller's own that narrows the search or counts; [Config.Policy] alone needs none.
// It is safe for concurrent use as far as the policy is. Cost: one call of
// [omega.Snapshot.Place].
func PlaceBy[K any](policy omega.Policy) Place[K] { return PlaceAmong[K](policy, nil) }

// PlaceAmong returns the Place of a policy that searches only the machines of a walk:
// machines that meet constraints, or the preferred ones first.
//
//	Place: loop.PlaceAmong(omega.NextFit(), func(j *loop.Job[string]) iter.Seq[locality.Node] { return ssd.From(0) })
//
// Walk is called for each attempt; a nil walk is over all machines. The first machine of
// the walk that will do is taken, unless the policy has a score. If the walk of a job
// never yields a large enough machine, the job uses up its attempts. [Job.Allow] is the
// other way to require something, [locality.Constraints.Has] for one: the loop then tells
// jobs that can never fit. Cost: for each task, the walk up to its machine.
func PlaceAmong[K any](policy omega.Policy, walk func(*Job[K]) iter.Seq[locality.Node]) Place[K] {
	return func(s *Search[K]) {
		job, tx := s.Job, s.Txn
		q := job.Query()
		if walk != nil {
			q.Among = walk(job)
		}
		s.Snapshot.Place(q, policy, s.Tasks, func(m omega.MachineID, tasks int) {
			for range tasks {
				tx.Claim(job.Claim(m))
			}
		})
	}
}

// PlaceOrPreempt returns the Place of a policy that preempts for tasks without room: each
// such task gets a machine of its own and victims there, by [omega.Snapshot.FindOrPreempt].
// Victims have the grace to stop, as in [omega.Txn]. Ranks returns the ranking for a job, for
// each attempt; nil ranks by precedence. Cost: the policy's, and one preemption for each task
// without room.
func PlaceOrPreempt[K any](policy omega.Policy, grace time.Duration, ranks func(*Job[K]) omega.Ranking) Place[K] {
	return func(s *Search[K]) {
		s.Txn.Grace = grace
		PlaceBy[K](policy)(s)
		if s.Txn.Len() >= s.Tasks {
			return
		}
		ranking := omega.RankBelow(s.Job.Precedence)
		if ranks != nil {
			ranking = ranks(s.Job)
		}
		q, used := s.Job.Query(), map[locality.Node]bool{}
		q.Allow = func(n locality.Node) bool { return !used[n] && (s.Job.Allow == nil || s.Job.Allow(n)) }
		for s.Txn.Len() < s.Tasks {
			m, victims, ok := s.Snapshot.FindOrPreempt(q, policy, ranking)
			if !ok {
				return
			}
			used[m.Node()] = true
			claim := s.Job.Claim(m)
			claim.Victims = victims
			s.Txn.Claim(claim)
		}
	}
}
