// Package peers measures cellsched beside the code that a program would otherwise
// import or write, in the same run on the same machine.
//
//	                 ┌▶ the peer, at its best settings ──┐
//	same operation ──┤                                   ├─▶ benchstat -col /impl
//	                 └▶ cellsched, through its public API┘
//
// The peers of omega/pool are semaphores, and in package admission worker pools
// too. Those of omega are a mutex around a slice, with next fit or first fit,
// and go-memdb: see BenchmarkMillion and the benchmarks after it. All are given the
// same tasks, through the interfaces in placer_test.go, and search by themselves.
// The schedulers of Kubernetes and Nomad are in schedulers, a module of its own.
//
// It is a module of its own, so that the peers stay out of the core's go.mod
// and are not downloaded by programs that only schedule. Absolute times depend
// on the machine; all claims are about the ratio within one run.
package peers
