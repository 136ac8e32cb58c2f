package layering_test

import (
	"flag"
	"go/ast"
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

var figures = flag.Bool("figures", false, "log the prose figures of each package, as rows of the table")

// Each package keeps to its ceilings, in shipped files and in tests. A ceiling falls
// with the figures: a package far below its row has to lower the row.
func TestProse_KeepsToItsCeilings(t *testing.T) {
	dir := root(t)
	counted := countProse(t, dir)
	require.Greater(t, counted["drf"].words, 5000, "words of comments in drf")
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		p := counted[name]
		row, unfinished := proseCeilings[name]
		if !unfinished {
			row = plainProse
		}
		for _, v := range p.above(row) {
			t.Errorf("%s: %s", name, v)
		}
		if unfinished {
			for _, v := range p.loose(row) {
				t.Errorf("%s: %s", name, v)
			}
		}
		if *figures && len(p.above(plainProse)) > 0 {
			t.Logf("%q: {%.1f, %.1f, %d},", name, p.pronouns(), p.long(), p.riddles)
		}
	}
	for name := range proseCeilings {
		top, _, _ := strings.Cut(name, "/")
		if _, err := os.Stat(filepath.Join(dir, top)); err == nil { // a nested module may be absent
			require.Contains(t, counted, name, "a row without a package")
		}
	}
}

// Each of the three figures alone exceeds a ceiling.
func TestProse_FindsViolations(t *testing.T) {
	tests := map[string]struct {
		source string
		want   []string // a part of each message, in order
	}{
		"plain": {source: "// Pick returns the user with the smallest share. It changes nothing."},
		"a pronoun": {
			source: "// Pick returns whoever is first.",
			want:   []string{"200.0 pronouns in 1,000 words, want 1.5 at most"},
		},
		"a pronoun in a body": {
			source: "func f() {\n\t// Nobody waits here.\n}",
			want:   []string{"333.3 pronouns in 1,000 words"},
		},
		"a long sentence": {
			source: "// A b c d e f g h i j k l m n: o p q r s t u v w x y z a b c d e.",
			want:   []string{"100.0 % of sentences over 30 words, want 2.0 % at most"},
		},
		"thirty words":  {source: "// B c d e f g h i j k l m n: o p q r s t u v w x y z a b c d e."},
		"a list":        {source: "// A b c d e f g h i j k l m n o p q:\n//\n//   - r s t u v w x y z a b c d e;\n//   - f g h i j k l m n."},
		"code":          {source: "// F walks:\n//\n//\tfor who := range nobody { whom(who) }"},
		"a wrapped one": {source: "// A b c d e f g h i j k l m n o p q\n// r s t u v w x y z a b c d e.", want: []string{"100.0 %"}},
		"a riddle": {
			source: "// T is what f returns.\ntype T int",
			want:   []string{`1 doc comments that begin as "X is what", want 0 at most`},
		},
		"a riddle of a field": {
			source: "type T struct {\n\t// A says whether B counts.\n\tA bool\n}",
			want:   []string{"1 doc comments"},
		},
		"no doc comment": {source: "func f() {\n\t// it is what f counts\n}"},
		"an output":      {source: "func f() {\n\t// Output:\n\t// nobody is starved\n}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := parseComments(t, "a.go", "package a\n\n"+tt.source+"\n").above(plainProse)
			require.Len(t, found, len(tt.want), "%q", found)
			for i, want := range tt.want {
				require.Contains(t, found[i], want)
			}
		})
	}
}

// A row far above the figures is an error, so that figures cannot rise again.
func TestProse_CeilingsOnlyFall(t *testing.T) {
	p := prose{words: 1000, who: 8, sentences: 100, over: 6, riddles: 6}
	require.Empty(t, p.above(ceiling{pronouns: 8, long: 6, riddles: 6}))
	require.Empty(t, p.loose(ceiling{pronouns: 8, long: 6, riddles: 6}))
	require.Empty(t, p.loose(ceiling{pronouns: 10, long: 8, riddles: 8}), "within a quarter")
	require.Len(t, p.loose(ceiling{pronouns: 11, long: 6, riddles: 6}), 1)
	require.Len(t, p.loose(ceiling{pronouns: 8, long: 8.1, riddles: 6}), 1)
	require.Len(t, p.loose(ceiling{pronouns: 8, long: 6, riddles: 9}), 1)
	require.Len(t, p.above(ceiling{pronouns: 7, long: 5, riddles: 5}), 3)
	require.Empty(t, p.above(ceiling{pronouns: 7.1, long: 5.1, riddles: 6}), "a part of one counts as one")
	require.Len(t, prose{words: 1000, who: 2, sentences: 99, over: 2}.above(plainProse), 2, "not in a package that is done")
}

// countProse counts the comments of each folder below dir, nested modules included. The
// tests of a folder have a name of their own.
func countProse(t *testing.T, dir string) map[string]prose {
	t.Helper()
	counted := map[string]prose{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(e.Name(), ".") && path != dir; hidden || e.Name() == "testdata" {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if e.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder)
		if strings.HasSuffix(path, "_test.go") {
			name += " tests"
		}
		p := counted[name]
		p.add(parseComments(t, path, nil))
		counted[name] = p
		return nil
	}))
	return counted
}

// parseComments counts the comments of a file, or of source in its place.
func parseComments(t *testing.T, file string, source any) (p prose) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	docs := map[*ast.CommentGroup]bool{f.Doc: true}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			docs[n.Doc] = true
		case *ast.GenDecl:
			docs[n.Doc] = true
		case *ast.TypeSpec:
			docs[n.Doc] = true
		case *ast.ValueSpec:
			docs[n.Doc] = true
		case *ast.Field:
			docs[n.Doc] = true
		}
		return true
	})
	for _, c := range f.Comments {
		p.count(c.Text(), docs[c])
	}
	return p
}
