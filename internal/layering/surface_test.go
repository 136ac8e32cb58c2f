package layering_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each package, and the module as a whole, exports no more identifiers than its row
// allows.
func TestSurface_KeepsToItsCeilings(t *testing.T) {
	counted := map[string]int{}
	for name, files := range packages(t, root(t)) {
		counted[name] = len(exported(files))
		counted[allPackages] += counted[name]
	}
	require.Greater(t, counted[allPackages], 500)
	if *figures {
		for _, name := range slices.Sorted(maps.Keys(counted)) {
			t.Logf("%q: %d,", name, counted[name])
		}
	}
	for _, v := range surfaceViolations(counted, surfaceCeilings) {
		t.Error(v)
	}
}

func TestSurface_Counts(t *testing.T) {
	tests := map[string]struct {
		source string
		want   []string
	}{
		"constants, variables, functions": {
			source: "const A, b = 1, 2\nvar (\n\tC int\n\td int\n)\nfunc E() {}\nfunc f() {}",
			want:   []string{"A", "C", "E"},
		},
		"fields": {
			source: "type A struct { B, C, d int; E }\ntype E = int\ntype f struct { G int }",
			want:   []string{"A", "A.B", "A.C", "E"},
		},
		"methods": {
			source: "type A[T any] int\nfunc (a A[T]) B() {}\nfunc (*A[T]) C() {}\nfunc (A[T]) d() {}\ntype e int\nfunc (e) F() {}",
			want:   []string{"A", "A.B", "A.C"},
		},
		"two parameters of a type": {
			source: "type A[K, V any] struct{}\nfunc (a *A[K, V]) B() {}",
			want:   []string{"A", "A.B"},
		},
		"an interface": {
			source: "type A interface { B(); c() }",
			want:   []string{"A", "A.B"},
		},
		"methods of the standard library": {
			source: "type A int\nfunc (A) String() string { return \"\" }\nfunc (A) Error() string { return \"\" }\nfunc Error() {}",
			want:   []string{"A", "Error"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\n\n"+tt.source+"\n", 0)
			require.NoError(t, err)
			require.ElementsMatch(t, tt.want, exported([]*ast.File{f}))
		})
	}
}

// A row far above the number is an error, so that numbers cannot rise again.
func TestSurface_CeilingsOnlyFall(t *testing.T) {
	rows := map[string]int{"a": 100}
	require.Empty(t, surfaceViolations(map[string]int{"a": 100}, rows))
	require.Empty(t, surfaceViolations(map[string]int{"a": 95}, rows), "within a twentieth")
	require.Equal(t, []string{"a: 101 exported identifiers, want 100 at most"}, surfaceViolations(map[string]int{"a": 101}, rows))
	require.Equal(t, []string{"a: 94 exported identifiers: lower the row from 100"}, surfaceViolations(map[string]int{"a": 94}, rows))
	require.Equal(t, []string{"a: a row without a package"}, surfaceViolations(nil, rows))
	require.Empty(t, surfaceViolations(map[string]int{"b": unlistedSurface, "c": 1}, nil))
	require.Len(t, surfaceViolations(map[string]int{"b": unlistedSurface + 1}, nil), 1)
}

// packages parses the public packages of the module in dir, without tests and files
// for other builds. Nested modules are left out.
func packages(t *testing.T, dir string) map[string][]*ast.File {
	t.Helper()
	found := map[string][]*ast.File{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != dir && (nested == nil || strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder)
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || !public(name) {
			return nil
		}
		if match, err := build.Default.MatchFile(filepath.Dir(path), e.Name()); err != nil || !match {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found[name] = append(found[name], f)
		return nil
	}))
	return found
}
