package loop

import "github.com/cellsched/cellsched/omega"

// Place adds the claims of up to k tasks of the job to tx, with [Job.Claim],
// on machines that it finds in the snapshot, and takes the room there
// ([omega.Snapshot.Place] does so itself). It may name victims. What it cannot
// place it leaves out; for a gang anything less than k is then not committed.
type Place[K any] func(snap *omega.Snapshot, job *Job[K], k int, tx *omega.Txn)

// PlaceBy returns the Place of a policy: it searches by [Job.Query]. It is for a Place
// of the caller's own that narrows the search or counts; [Config.Policy] alone needs none.
// It is safe for concurrent use as far as the policy is. Cost: that of
// [omega.Snapshot.Place].
func PlaceBy[K any](policy omega.Policy) Place[K] {
	return func(snap *omega.Snapshot, job *Job[K], k int, tx *omega.Txn) {
		snap.Place(job.Query(), policy, k, func(m omega.MachineID, tasks int) {
			for range tasks {
				tx.Claim(job.Claim(m))
			}
		})
	}
}
