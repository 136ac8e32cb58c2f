//go:build !unix

package flow_test

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
