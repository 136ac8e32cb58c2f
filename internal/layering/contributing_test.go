package layering_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CONTRIBUTING.md is the map of the repository: each folder that its table
// names is there, and it names the dependencies that go.mod has, no others.
func TestContributing_NamesExistingPaths(t *testing.T) {
	root := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	text := string(data)

	rows := 0
	for _, row := range regexp.MustCompile("(?m)^\\| ((?:`[a-z/]+`(?:, )?)+) \\|").FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			rows++
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(strings.Trim(name, "`"))))
			require.NoError(t, err, "CONTRIBUTING.md names the folder %s", name)
			require.True(t, info.IsDir(), name)
		}
	}
	require.Greater(t, rows, 20, "rows of the table of packages")

	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for _, path := range append(append([]string{}, dependencies...), testDependencies...) {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "github.com/"), "/v3")
		short := name[strings.LastIndex(name, "/")+1:]
		named := regexp.MustCompile(`\b`+regexp.QuoteMeta(short)+`\b`).MatchString(text) &&
			(short != "exp" || strings.Contains(text, "x/exp"))
		required := strings.Contains(string(mod), path+" ")
		require.False(t, named && !required, "CONTRIBUTING.md names %s, which go.mod does not require", path)
	}
}
