//go:build !linux

package experiments

import "time"

// threadTime returns 0: here a thread is not told its time on a CPU.
func threadTime() time.Duration { return 0 }
