package resources

import (
	"fmt"
	"syscall"
	"unsafe"
)

// memoryStatusEx is the MEMORYSTATUSEX of the Windows API.
type memoryStatusEx struct {
	length               uint32
	load                 uint32
	totalPhys            uint64
	availPhys            uint64
	totalPageFile        uint64
	availPageFile        uint64
	totalVirtual         uint64
	availVirtual         uint64
	availExtendedVirtual uint64
}

func hostMemory() (int64, error) {
	call := syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if err := call.Find(); err != nil { // Call would panic
		return 0, err
	}
	status := memoryStatusEx{length: uint32(unsafe.Sizeof(memoryStatusEx{}))}
	if ok, _, err := call.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0, fmt.Errorf("GlobalMemoryStatusEx: %w", err)
	}
	if status.totalPhys == 0 || status.totalPhys > uint64(MaxQuantity) {
		return 0, fmt.Errorf("GlobalMemoryStatusEx: %d bytes, want 1 to 2^62", status.totalPhys)
	}
	return int64(status.totalPhys), nil
}
