//go:build !linux

package file

import "os"

// syncData makes the content of a file durable: on macOS by F_FULLFSYNC.
func syncData(f *os.File) error { return f.Sync() }
