// Package admission compares omega/pool with the usual ways to bound how much a program
// does at a time, on one machine: semaphores, groups and worker pools.
//
//	               submit(by)              ┌──────────┐   ┌──────┐
//	1, 2, 8, 64  ───────────────────────►  │ a peer:  ├──►│ task │ here, or in
//	goroutines     waits while too many    │ at most n│   └──────┘ a goroutine
//	               run already             └──────────┘            elsewhere
//
// Each peer has a file with its adapter and the settings it runs with, chosen
// to be its best. The load and the task are the same for all and come from one
// place. A test holds all to the same contract: every task runs, n at a time
// and no more, and no goroutine stays behind.
//
// Most peers know one number, n. The pool is brought down to that here: one
// machine, one kind of resource, one tenant. It still keeps its accounts by
// kind, machine and tenant. So it has more to do for each task and loses every
// row of these benchmarks. The gain from that work is shown by the tests of omega/pool,
// and by the one here about the meek.
//
//	            version  last release  of that               waits end with ctx  fair to tenants
//	x/sync      v0.24.0  2026-09       semaphore.Weighted    yes                 no
//	x/sync      v0.24.0  2026-09       errgroup, SetLimit    no                  no
//	conc        v0.3.0   2023-02       pool.Pool             no                  no
//	pond        v2.7.1   2026-04       Pool.Go               with the pool's     no
//	ants        v2.12.1  2026-05       Pool.Submit           no                  no
//
// x/sync is maintained by the Go project, and most programs have it
// already. conc comes from Sourcegraph. Its last release is years old, and a
// question about its state (sourcegraph/conc#148) stands unanswered. Programs still
// have it, many through Viper, which needed it until
// its file search dropped it (spf13/viper#2060). Some pin a later commit,
// said to be slower (sourcegraph/conc#154); the release is measured here.
// pond is maintained, by one author for the most part; Chainlink's system tests
// use it. ants is maintained; its README names Milvus, TDengine, gnet and
// services of Tencent and ByteDance among its users. Importing it starts
// two goroutines, for a default pool, whether that is used or not.
//
// The fair queues of Mimir and Temporal are servers' code, and written here as that code does it.
// A test compares the slot time that their tenants get with that from the pool.
//
// container/heap as the rival of drf.Heap is in that package's own benchmark,
// as impl=maps.
package admission
