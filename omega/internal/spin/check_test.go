// Package spin_test tests the script that checks the model of the gang commit.
package spin_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	skipped = "SKIPPED: the model of the gang commit was NOT checked"
	refused = "CI does not skip the model of the gang commit"
)

// Without its tools the check is skipped, loudly, and in CI it fails, whatever kept
// it from installing them.
func TestCheck_FailsInCIWithoutItsTools(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	const root, user = "echo 0", "echo 1000"
	tests := map[string]struct {
		ci       string
		commands map[string]string // name: body
		status   int
		want     string
		not      string
	}{
		"elsewhere":                {"", nil, 0, skipped, refused},
		"elsewhere, as root":       {"false", map[string]string{"apt-get": "exit 7", "id": root}, 0, skipped, refused},
		"elsewhere, spin alone":    {"", map[string]string{"spin": "exit 0"}, 0, skipped, refused},
		"CI without apt-get":       {"true", map[string]string{"id": root}, 1, refused, skipped},
		"CI, not root":             {"true", map[string]string{"id": user, "apt-get": "exit 0"}, 1, refused, skipped},
		"CI, apt-get fails":        {"true", map[string]string{"id": root, "apt-get": "exit 100"}, 1, refused, skipped},
		"CI, update works alone":   {"true", map[string]string{"id": root, "apt-get": `[ "$1" = update ]`}, 1, refused, skipped},
		"CI, apt-get does nothing": {"true", map[string]string{"id": root, "apt-get": "exit 0"}, 1, refused, skipped},
		"CI, gcc alone":            {"true", map[string]string{"id": root, "apt-get": "exit 100", "gcc": "exit 0"}, 1, refused, skipped},
		"CI, spin is broken":       {"true", map[string]string{"spin": "echo broken; exit 3", "gcc": "exit 0"}, 1, "broken", skipped},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			for _, tool := range []string{"bash", "cat", "dirname", "mktemp", "rm", "sed", "grep", "timeout"} {
				if at, err := exec.LookPath(tool); err == nil {
					require.NoError(t, os.Symlink(at, filepath.Join(path, tool)))
				}
			}
			for command, body := range test.commands {
				script := "#!" + bash + "\n" + body + "\n"
				require.NoError(t, os.WriteFile(filepath.Join(path, command), []byte(script), 0o700)) //nolint:gosec // it is run
			}
			check := exec.Command(bash, "./check")
			check.Env = []string{"PATH=" + path, "CI=" + test.ci, "TMPDIR=" + t.TempDir()}
			out, err := check.CombinedOutput()
			status := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				status = exit.ExitCode()
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.status, status, "%s", out)
			require.Contains(t, string(out), test.want)
			require.NotContains(t, string(out), test.not)
		})
	}
}
