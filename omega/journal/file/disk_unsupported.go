//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package file

import (
	"errors"
	"fmt"
	"os"
)

// lock fails: there is no lock that ends with the process.
func lock(f *os.File) error { return fmt.Errorf("lock of %s: %w", f.Name(), errors.ErrUnsupported) }

func syncFolder(string) error { return nil }
