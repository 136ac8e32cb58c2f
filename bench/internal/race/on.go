//go:build race

package race

// Detector reports whether the program was built with -race.
const Detector = true
