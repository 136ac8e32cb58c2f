// Package federate runs package federation in virtual time, beside Sparrow and beside an
// ideal scheduler, on the same jobs.
//
//	Jobs ──┬──▶ Megha: federation.Global ⇄ federation.Verifier, over a network with a delay
//	       ├──▶ Sparrow: batch sampling with late binding
//	       └──▶ Ideal: one queue, all the truth, no delay
//
// The experiments are those of "Megha: Decentralized Global Fair Scheduling for Federated
// Clusters", arXiv 2103.08413. A run is one goroutine's, and the same configuration gives
// the same result.
//
// A wait is that of one task, from the submission at the front end to the start on a
// worker. A local master starts a task as soon as it has granted its room, and hears of
// its end at once: between the two there is no network.
package federate
