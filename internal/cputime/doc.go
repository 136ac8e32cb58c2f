// Package cputime says how much time was spent on a CPU, which other programs on
// the machine disturb less than what the clock says. Benchmarks use it.
package cputime
