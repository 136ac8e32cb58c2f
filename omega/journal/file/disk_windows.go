package file

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const (
	lockExclusively = 2 // LOCKFILE_EXCLUSIVE_LOCK
	lockAtOnce      = 1 // LOCKFILE_FAIL_IMMEDIATELY
	lockViolation   = syscall.Errno(33)
)

// lock locks a file until it is closed, or the process ends.
func lock(f *os.File) error {
	lockFile := syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")
	ok, _, err := lockFile.Call(f.Fd(), lockExclusively|lockAtOnce, 0, 1, 0, uintptr(unsafe.Pointer(new(syscall.Overlapped))))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, lockViolation):
		return ErrLocked
	}
	return os.NewSyscallError("LockFileEx", err)
}

// syncFolder does nothing: NTFS keeps names in a journal of its own.
func syncFolder(string) error { return nil }
