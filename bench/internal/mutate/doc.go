// Mutate plants bugs in packages of the core module or of bench and reports which of them the
// tests catch.
//
//	go -C bench run ./internal/mutate -n 15 ./drf ./offers
//	go -C bench run ./internal/mutate -planted
//	go -C bench run ./internal/mutate -list -n 15 ./drf
//
// A mutant is one small change of the source: a comparison that is off by one
// or negated, an operator or a constant replaced, a statement left out, a
// compare-and-swap that always succeeds, a lock that is not taken. Candidates
// are found in the syntax tree of the files that are not tests. Of each
// package -n candidates are drawn with a fixed seed, so that a run can be
// repeated.
//
// With -planted the mutants come from the files below planted/ instead. Each
// is a bug that once passed all tests, or one that a test exists for.
//
// A mutant is built in place of the original by the go command's -overlay; no
// file of the repository is written. The tests of its package decide: a mutant
// is caught if they fail or do not end within the limit. Where a lock is not
// taken they run with the race detector. Draws that do not compile are replaced
// by the next candidate. The locks and the compare-and-swaps of packages that have
// scenarios for the schedule explorer are left to that, where tests pass.
//
// Some mutants change nothing that a caller can observe, for instance a
// capacity hint. The file equivalent.txt lists them, each with the reason; they
// are not counted. The exit status is 1 if a mutant survives.
package main
