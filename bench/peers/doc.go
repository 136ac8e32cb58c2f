// Package peers measures cellsched beside what a program would otherwise
// import or write, in the same run on the same machine.
//
//	                 ┌▶ the peer, at its best settings ──┐
//	same operation ──┤                                   ├─▶ benchstat -col /impl
//	                 └▶ cellsched, through its public API┘
//
// It is a module of its own, so that the peers stay out of the core's go.mod
// and nobody downloads them who only wants to schedule. Absolute times depend
// on the machine; what is claimed anywhere is the ratio within one run.
package peers
