package layering_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// structure is a package as a graph of files: an arrow leads from a file to another one whose
// functions, types or fields it names.
type structure struct {
	arrows  map[[2]string]bool
	methods map[string]map[string]int // of each type, by file
}

// structureOf reads the files of a package that this platform builds, without tests.
func structureOf(dir string) (*structure, error) {
	fset, s := token.NewFileSet(), &structure{map[[2]string]bool{}, map[string]map[string]int{}}
	var files []*ast.File
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if match, err := build.Default.MatchFile(dir, filepath.Base(path)); err != nil || !match || strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				name := receiver(fn.Recv.List[0].Type)
				if s.methods[name] == nil {
					s.methods[name] = map[string]int{}
				}
				s.methods[name][filepath.Base(path)]++
			}
		}
	}
	// Imports are empty packages, and what they lack is no error: only the package's own objects
	// are looked at.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: empty{}, Error: func(error) {}}
	pkg, _ := config.Check(dir, fset, files, info)
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !o.Pos().IsValid() {
			continue
		}
		if v, ok := o.(*types.Var); ok && !v.IsField() && v.Parent() != pkg.Scope() {
			continue // of a function
		}
		from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(o.Pos()).Filename)
		if from != to {
			s.arrows[[2]string{from, to}] = true
		}
	}
	return s, nil
}

// empty imports each package as one without names.
type empty struct{}

func (empty) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// up returns how many arrows lead back up in the best order of the files that is found: one by
// degrees, and then with single files moved for as long as that helps. The least is hard to
// find, so this is a bound from above.
func (s *structure) up() int {
	in, out := map[string]int{}, map[string]int{}
	for a := range s.arrows {
		out[a[0]]++
		in[a[1]]++
		in[a[0]], out[a[1]] = in[a[0]]+0, out[a[1]]+0
	}
	order := slices.SortedFunc(maps.Keys(in), func(a, b string) int {
		return cmp.Or(cmp.Compare(in[a]-out[a], in[b]-out[b]), strings.Compare(a, b))
	})
	back := func(above, below string) int { // arrows up if above stands above below, less those if not
		n := 0
		if s.arrows[[2]string{below, above}] {
			n++
		}
		if s.arrows[[2]string{above, below}] {
			n--
		}
		return n
	}
	for better := true; better; {
		better = false
		for i := range order {
			f, gain, best, to := order[i], 0, 0, i
			for j := i - 1; j >= 0; j-- { // f above order[j]
				if gain += back(f, order[j]); gain < best {
					best, to = gain, j
				}
			}
			gain = 0
			for j := i + 1; j < len(order); j++ { // f below order[j]
				if gain += back(order[j], f); gain < best {
					best, to = gain, j
				}
			}
			if to != i {
				order = slices.Insert(slices.Delete(order, i, i+1), to, f)
				better = true
			}
		}
	}
	place, n := map[string]int{}, 0
	for i, f := range order {
		place[f] = i
	}
	for a := range s.arrows {
		if place[a[0]] > place[a[1]] {
			n++
		}
	}
	return n
}

// The largest types have no more methods, over no more files, than their rows allow, and the
// files of their packages no more arrows up.
func TestStructure_KeepsToItsCeilings(t *testing.T) {
	read := map[string]*structure{}
	for _, row := range structureCeilings {
		name, of, _ := strings.Cut(row.name, ".")
		s := read[name]
		if s == nil {
			var err error
			s, err = structureOf(filepath.Join(root(t), filepath.FromSlash(name)))
			require.NoError(t, err)
			read[name] = s
		}
		got := row
		if of == "" {
			got.arrows, got.up = len(s.arrows), s.up()
		} else {
			got.methods, got.files = 0, len(s.methods[of])
			for _, n := range s.methods[of] {
				got.methods += n
			}
			require.NotZero(t, got.methods, row.name)
		}
		if *figures {
			t.Logf("%+v", got)
		}
		if got.methods > row.methods || got.files > row.files || got.up > row.up {
			t.Errorf("%s: %+v, want %+v at most", row.name, got, row)
		}
		if 10*got.methods < 9*row.methods || 10*got.up < 8*row.up-10 {
			t.Errorf("%s: %+v, the row allows %+v: lower it", row.name, got, row)
		}
	}
}

func TestStructure_CountsArrowsAndMethods(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":      "package p\nimport \"fmt\"\ntype A struct{ b B }\nfunc (a *A) One() { a.b.Two(); fmt.Println(c) }\n",
		"b.go":      "package p\ntype B struct{}\nfunc (B) Two() { local := 1; _ = local }\nfunc (a *A) Three() {}\n",
		"c.go":      "package p\nvar c = 1\nfunc down(g G[int]) { g.Four() }\n",
		"d.go":      "package p\ntype G[T any] struct{}\nfunc (g *G[T]) Four() { _ = c }\n",
		"d_test.go": "package p\nfunc (g *G[T]) Five() {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s, err := structureOf(dir)
	require.NoError(t, err)
	require.Equal(t, map[[2]string]bool{
		{"a.go", "b.go"}: true, {"b.go", "a.go"}: true, {"a.go", "c.go"}: true, {"c.go", "d.go"}: true, {"d.go", "c.go"}: true,
	}, s.arrows)
	require.Equal(t, 2, s.up(), "one of each pair")
	require.Equal(t, "map[A:map[a.go:1 b.go:1] B:map[b.go:1] G:map[d.go:1]]", fmt.Sprint(s.methods))
}
