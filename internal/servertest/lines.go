package servertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// BodyLines returns the number of lines in the bodies of some functions of a file. The functions
// have no comments or blank lines inside.
func BodyLines(tb testing.TB, file string, functions ...string) (lines int) {
	tb.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		tb.Fatal(err)
	}
	found := 0
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(functions, f.Name.Name) {
			lines += set.Position(f.Body.Rbrace).Line - set.Position(f.Body.Lbrace).Line - 1
			found++
		}
	}
	if found != len(functions) {
		tb.Fatalf("%s has %d of %v", file, found, functions)
	}
	return lines
}
