// Package journals has helpers for tests and benchmarks of cells with a journal: a journal that
// stalls and fails when it is told to, and a measured loop of commits.
package journals
