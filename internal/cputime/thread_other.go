//go:build !linux

package cputime

import "time"

// OfThread returns 0: here a thread is not told its time on a CPU.
func OfThread() time.Duration { return 0 }
