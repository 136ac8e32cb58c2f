package cputime

import (
	"syscall"
	"time"
	"unsafe"
)

// OfThread returns how long the calling thread has been on a CPU; 0 on systems
// other than Linux. Getrusage, which needs no pointer, counts in ticks of
// milliseconds on some kernels.
func OfThread() time.Duration {
	const thisThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	_, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, thisThread, uintptr(unsafe.Pointer(&t)), 0)
	if failed != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}
