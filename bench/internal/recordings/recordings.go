// Package recordings finds the recorded workloads that commands and tests run,
// which are not part of the repository.
package recordings

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
)

// Folder returns the folder of the recordings: $CELLSCHED_DATA, or else shared/data
// beside the repository, which has the given root.
func Folder(root string) string {
	return cmp.Or(os.Getenv("CELLSCHED_DATA"), filepath.Join(root, "..", "shared", "data"))
}

// skipper is the part of a test that Find needs: commands are not to be linked with
// package testing.
type skipper interface {
	Helper()
	Skipf(format string, args ...any)
}

// Find returns the path of a file or folder of theirs, and skips the test where
// there is none.
func Find(t skipper, name string) string {
	t.Helper()
	_, self, _, _ := runtime.Caller(0)
	path := filepath.Join(Folder(filepath.Join(filepath.Dir(self), "..", "..", "..")), name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no recording %s: set CELLSCHED_DATA to the folder that has it", path)
	}
	return path
}
