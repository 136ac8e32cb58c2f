package resources

import (
	"fmt"
	"runtime"
)

// hostSpace is {cpu, memory}: one for all calls, so that their results can be
// compared with ==. A test checks that its dimensions are valid.
var hostSpace, _ = NewSpace(CPU(), Memory())

// Host returns the CPUs and the memory that this process may use, in a space of
// [CPU] and [Memory].
//
// CPU is runtime.GOMAXPROCS. On Linux that follows the CPU limit of the process's
// cgroup, unless the program or its environment set it. It is rounded up, and 2 at
// least on a machine with 2. Memory is that of the machine. On Linux it is no more
// than the smallest limit of the process's cgroup and of the cgroups around it, v1
// or v2. Only cgroups that are mounted where the process sees them count. Other
// limits, such as those of Windows' job objects, are not read.
//
// Both may change while a program runs; Host reads them each time and is safe for
// concurrent use. Cost: on Linux a few reads from /proc and /sys, no waiting.
//
// Errors: one that names the unreadable file, with memory 0 and CPU still filled
// in. On a system without support it wraps errors.ErrUnsupported.
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
