//go:build !race

package experiments_test

const raceDetector = false
