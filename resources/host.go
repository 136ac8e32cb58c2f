package resources

import (
	"fmt"
	"runtime"
)

// hostSpace is {cpu, memory}: one for all calls, so that what they return can
// be compared with ==. Its dimensions are valid, which a test holds.
var hostSpace, _ = NewSpace(CPU(), Memory())

// Host returns what this process may use of the machine, in a space of
// [CPU] and [Memory].
//
// CPU is runtime.GOMAXPROCS, which on Linux follows the CPU limit of the
// process's cgroup (rounded up, and 2 at least where the machine has 2) unless
// the program or its environment set it. Memory is the machine's and, on
// Linux, no more than the smallest limit of the process's cgroup and of the
// cgroups around it, v1 or v2, as far as they are mounted where the process
// sees them. A limit of another sort, as on Windows' job objects, is not
// looked at. Both may change while a program runs; Host reads them anew each
// time and is safe for concurrent use. Cost: on Linux a few reads from /proc
// and /sys, no waiting.
//
// Errors: one that says what could not be read, with memory 0 and CPU still
// filled in. It wraps errors.ErrUnsupported on a system whose memory Host
// cannot tell.
func Host() (Named, error) {
	n := Named{Space: hostSpace}
	n.Vector[0] = int64(runtime.GOMAXPROCS(0)) * hostSpace.dims[0].PerUnit
	memory, err := hostMemory()
	if err != nil {
		return n, fmt.Errorf("resources: memory of the host: %w", err)
	}
	n.Vector[1] = memory
	return n, nil
}
