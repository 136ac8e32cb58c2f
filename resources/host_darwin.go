package resources

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

func hostMemory() (int64, error) {
	text, err := syscall.Sysctl("hw.memsize")
	if err != nil {
		return 0, fmt.Errorf("sysctl hw.memsize: %w", err)
	}
	// The value is a little-endian uint64, but Sysctl takes it for a C string
	// and drops the last byte where that is 0.
	var raw [8]byte
	if n := copy(raw[:], text); n < len(raw)-1 {
		return 0, fmt.Errorf("sysctl hw.memsize: %d bytes, want %d", n, len(raw))
	}
	bytes := binary.LittleEndian.Uint64(raw[:])
	if bytes == 0 || bytes > uint64(MaxQuantity) {
		return 0, fmt.Errorf("sysctl hw.memsize: %d, want 1 to 2^62", bytes)
	}
	return int64(bytes), nil
}
