package layering_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImports_FollowTheTable(t *testing.T) {
	files := sources(t, root(t))
	require.True(t, slices.ContainsFunc(files, func(f source) bool {
		return f.pkg == "internal/layering" && f.name == "layering_test.go"
	}), "the go command did not list this very file")
	for _, v := range violations(files) {
		t.Error(v)
	}
}

func TestTopLevel_HoldsDesignedFoldersOnly(t *testing.T) {
	dir := root(t)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(topLevel, name) || gitIgnores(dir, name) {
			continue
		}
		t.Errorf("%s: want only %q at the top level", name, topLevel)
	}
}

func TestViolations(t *testing.T) {
	own := func(pkgs ...string) []string {
		for i, p := range pkgs {
			pkgs[i] = module + "/" + p
		}
		return pkgs
	}
	tests := map[string]struct {
		files []source
		want  []string // a part of each message, in order
	}{
		"allowed":          {files: []source{{"omega/pool", "a.go", own("omega", "drf", "resources")}}},
		"standard library": {files: []source{{"drf", "a.go", []string{"math/big", "C"}}}},
		"core dependency":  {files: []source{{"omega", "a.go", []string{"github.com/puzpuzpuz/xsync/v3", "golang.org/x/exp/constraints"}}}},
		"own subfolder":    {files: []source{{"omega", "a.go", own("omega/internal/word")}}},
		"shared folder":    {files: []source{{"resources", "a.go", own("internal/fault")}, {"omega/flow", "a.go", own("internal/fault")}}},
		"shared folder that knows its users": {
			files: []source{{"internal/fault", "a.go", own("resources")}},
			want:  []string{`internal/fault/a.go: imports resources, want its own subfolders or one of []`},
		},
		"parent's internal package": {files: []source{{"omega/flow", "a.go", own("omega/internal/word")}}},
		"client":                    {files: []source{{"examples/quickstart", "a.go", own("omega", "delay/late")}}},
		"test code":                 {files: []source{{"resources", "a_test.go", append(own("omega", "examples/flow"), "pgregory.net/rapid")}}},
		"test code that needs another module": {
			files: []source{{"resources", "a_test.go", own("bench/sim")}},
			want:  []string{`resources/a_test.go: imports bench/sim, which is not part of the core`},
		},
		"two packages that import none": {
			files: []source{{"resources", "a.go", own("locality")}},
			want:  []string{`resources/a.go: imports locality, want its own subfolders or one of []`},
		},
		"subfolder of what is allowed": {
			files: []source{{"omega", "a.go", own("locality/quincy")}},
			want:  []string{`omega/a.go: imports locality/quincy, want its own subfolders or one of ["resources" "locality"]`},
		},
		"name that only begins alike": {
			files: []source{{"omega", "a.go", own("omegas")}},
			want:  []string{`omega/a.go: imports omegas`},
		},
		"internal package has its parent's row": {
			files: []source{{"drf/internal/tree", "a.go", own("resources", "omega")}},
			want:  []string{`drf/internal/tree/a.go: imports omega`},
		},
		"client imported": {
			files: []source{{"offers", "a.go", own("examples/flow")}},
			want:  []string{`offers/a.go: imports examples/flow`},
		},
		"package without a row, once": {
			files: []source{{"gossip", "a.go", nil}, {"gossip", "b.go", nil}, {"drf/gossip", "a.go", nil}},
			want:  []string{`package "gossip": no row`, `package "drf/gossip": no row`},
		},
		"test library in shipped code": {
			files: []source{{"drf", "a.go", []string{"github.com/stretchr/testify/require"}}},
			want:  []string{`drf/a.go: imports github.com/stretchr/testify/require, which is not a dependency`},
		},
		"unknown module, in a client's test too": {
			files: []source{{"examples/flow", "a_test.go", []string{"golang.org/x/sync/semaphore"}}},
			want:  []string{`examples/flow/a_test.go: imports golang.org/x/sync/semaphore`},
		},
		"btree behind two files": {
			files: []source{
				{"omega/internal/queue", "a.go", []string{replaceable}},
				{"omega/internal/queue", "a_test.go", []string{replaceable}},
				{"drf", "b.go", []string{replaceable}},
			},
			want: []string{`drf/b.go: imports github.com/google/btree, as does omega/internal/queue/a.go`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := violations(tt.files)
			require.Len(t, found, len(tt.want), "%q", found)
			for i, want := range tt.want {
				require.Contains(t, found[i], want)
			}
		})
	}
}

// root is the folder of the module that this test is part of.
func root(t *testing.T) string {
	t.Helper()
	dir := strings.TrimSpace(string(goCommand(t, ".", "list", "-m", "-f", "{{.Dir}}", module)))
	require.NotEmpty(t, dir)
	return dir
}

// sources reads the imports of every Go file of every package that the go command
// lists. It reads the folders itself, since build constraints hide files of other
// platforms from the go command. The go command drops a cached test result when a
// folder that the test read has changed.
func sources(t *testing.T, root string) (files []source) {
	t.Helper()
	out := json.NewDecoder(strings.NewReader(string(goCommand(t, root, "list", "-find", "-e", "-json=ImportPath,Dir", "./..."))))
	for {
		var pkg struct{ ImportPath, Dir string }
		err := out.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		entries, err := os.ReadDir(pkg.Dir)
		require.NoError(t, err)
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".go" && !e.IsDir() {
				files = append(files, source{
					pkg:     strings.TrimPrefix(strings.TrimPrefix(pkg.ImportPath, module), "/"),
					name:    e.Name(),
					imports: imports(t, filepath.Join(pkg.Dir, e.Name())),
				})
			}
		}
	}
}

func imports(t *testing.T, file string) (paths []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		paths = append(paths, path)
	}
	return paths
}

// goCommand runs the go command that runs this test, which puts itself first
// in the path.
func goCommand(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("go %q: %v: %s", args, err, failed.Stderr)
	}
	require.NoError(t, err)
	return out
}

// gitIgnores reports whether a file is the developer's own. Outside a git
// repository nothing is.
func gitIgnores(dir, name string) bool {
	cmd := exec.Command("git", "check-ignore", "--quiet", name)
	cmd.Dir = dir
	return cmd.Run() == nil
}
