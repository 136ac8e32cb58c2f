// Package peers measures cellsched beside what a program would otherwise
// import or write, in the same run on the same machine.
//
//	                 ┌▶ the peer, at its best settings ──┐
//	same operation ──┤                                   ├─▶ benchstat -col /impl
//	                 └▶ cellsched, through its public API┘
//
// The peers of omega/pool are semaphores, and in package admission worker pools
// too. Those of omega are a mutex around a slice, with next fit or first fit,
// and go-memdb: see BenchmarkMillion and what follows it. All are given the same
// tasks, through the interfaces in placer_test.go, and search by themselves.
//
// It is a module of its own, so that the peers stay out of the core's go.mod
// and nobody downloads them who only wants to schedule. Absolute times depend
// on the machine; what is claimed anywhere is the ratio within one run.
package peers
