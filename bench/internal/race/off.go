//go:build !race

// Package race tells whether the race detector watches every access, which
// makes a run some twenty times as slow.
package race

// Detector reports whether the program was built with -race.
const Detector = false
