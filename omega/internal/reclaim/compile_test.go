package reclaim_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program outside of the package gets at the object of a word by keeping it alone: all
// else does not compile.
func TestWord_IsNotReadWithoutKeeping(t *testing.T) {
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "source", nil)
	compile := func(body string) error {
		file, err := parser.ParseFile(fset, "a.go", `package a

import "github.com/cellsched/cellsched/omega/internal/reclaim"

func read(w *reclaim.Word[int]) int { `+body+` }
`, 0)
		require.NoError(t, err)
		_, err = (&types.Config{Importer: from}).Check("github.com/cellsched/cellsched/omega/internal/a", fset, []*ast.File{file}, nil)
		return err
	}
	require.NoError(t, compile("return w.Keep().V"))
	require.NoError(t, compile("return w.KeepFor(1).V"))
	for body, want := range map[string]string{
		"return w.cur.Load().V":                "cur undefined",
		"return w.Load().V":                    "Load undefined",
		"return w.Peek().V":                    "V undefined",
		"return w.Peek().obj.V":                "obj undefined",
		"return (*w.Peek()).V":                 "cannot indirect",
		"return w.Keep().maker":                "maker undefined",
		"return w.Peek().Is(1).V":              "cannot use 1",
		"return w.Swap(nil).V":                 "Swap undefined",
		"w.Keep().kept.Store(false); return 0": "kept undefined",
	} {
		require.ErrorContains(t, compile(body), want, body)
	}
}
