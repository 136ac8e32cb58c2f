//go:build race

package experiments

// raceDetector says that every access is watched, which makes a run some twenty
// times as slow.
const raceDetector = true
