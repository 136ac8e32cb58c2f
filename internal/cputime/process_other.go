//go:build !unix

package cputime

import "time"

// Used returns 0: not known on this system.
func Used() time.Duration { return 0 }
