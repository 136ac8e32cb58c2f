package layering_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// insideBodies is the share of comment lines that a package has inside function bodies,
// in per cent, at least. The contract stands above a function, the reason for a branch
// beside it.
const insideBodies = 25

// measured is the number of comment lines from which a package is measured: a share of
// fewer says little.
const measured = 150

// commentLines counts the lines of comments of a package, and those inside bodies.
type commentLines struct{ all, inside int }

func (l commentLines) share() float64 { return 100 * float64(l.inside) / float64(max(l.all, 1)) }

// below returns a message if the share is below a floor.
func (l commentLines) below(floor int) string {
	if l.all < measured || l.share() >= float64(floor) {
		return ""
	}
	return fmt.Sprintf("%.1f %% of %d comment lines are inside bodies, want %d %% at least", l.share(), l.all, floor)
}

// outgrown returns a message if the share is so far above the floor of a row that the row
// has to follow.
func (l commentLines) outgrown(floor int) string {
	if l.share() < float64(floor+5) && l.share() < insideBodies {
		return ""
	}
	return fmt.Sprintf("%.1f %% of comment lines are inside bodies: raise the row from %d", l.share(), floor)
}

// Each package keeps its share of comments inside bodies: at the branch that they explain.
func TestComments_StandAtTheirBranch(t *testing.T) {
	dir := root(t)
	counted := countInside(t, dir)
	require.Greater(t, counted["omega"].all, 2000, "comment lines in omega")
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		l := counted[name]
		row, unfinished := bodyFloors[name]
		if !unfinished {
			row = insideBodies
		}
		if v := l.below(row); v != "" {
			t.Errorf("%s: %s", name, v)
		}
		if v := l.outgrown(row); unfinished && v != "" {
			t.Errorf("%s: %s", name, v)
		}
		if *figures && l.all >= measured && l.share() < insideBodies {
			t.Logf("%q: %d, // of %d lines", name, int(l.share()), l.all)
		}
	}
	for name := range bodyFloors {
		require.Contains(t, counted, name, "a row without a package")
	}
}

// A comment is inside a body if it stands between its braces, on a line of its own or
// behind code.
func TestComments_AreCountedByLine(t *testing.T) {
	source := "// Package a is one.\npackage a\n\n// F has\n// two.\nfunc F() {\n\t// first\n\t// second\n\tg() // third\n} // outside\n"
	l := commentLines{}
	l.count(t, "a.go", source)
	require.Equal(t, commentLines{all: 7, inside: 3}, l)

	require.Empty(t, commentLines{all: measured, inside: measured / 2}.below(50))
	require.NotEmpty(t, commentLines{all: measured, inside: measured/2 - 1}.below(50))
	require.Empty(t, commentLines{all: measured - 1}.below(50), "too few to measure")
	require.Empty(t, commentLines{all: 100, inside: 14}.outgrown(10))
	require.NotEmpty(t, commentLines{all: 100, inside: 15}.outgrown(10), "five points above its row")
	require.NotEmpty(t, commentLines{all: 100, inside: 25}.outgrown(24), "it needs no row")
}

// countInside counts the comments of the shipped files of each folder of the core module.
func countInside(t *testing.T, dir string) map[string]commentLines {
	t.Helper()
	counted := map[string]commentLines{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder)
		top, _, _ := strings.Cut(name, "/")
		switch {
		case e.IsDir() && path != dir && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"), top == "bench", top == "examples":
			return nil
		}
		l := counted[name]
		l.count(t, path, nil)
		counted[name] = l
		return nil
	}))
	return counted
}

// count adds the comments of a file, or of source in its place.
func (l *commentLines) count(t *testing.T, file string, source any) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, group := range f.Comments {
		lines := fset.Position(group.End()).Line - fset.Position(group.Pos()).Line + 1
		l.all += lines
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Body.Pos() < group.Pos() && group.End() <= fn.Body.End() {
				l.inside += lines
			}
		}
	}
}
