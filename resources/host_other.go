//go:build !linux && !darwin && !windows

package resources

import (
	"errors"
	"fmt"
	"runtime"
)

func hostMemory() (int64, error) {
	return 0, fmt.Errorf("not known on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
