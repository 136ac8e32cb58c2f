package fault_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/fault"
)

var (
	errNeed = errors.New("resources: invalid quantity")
	errJob  = errors.New("omega: job")
)

func TestNew_NamesThePackageOnce(t *testing.T) {
	tests := map[string]struct {
		err  error
		text string
		is   []error
	}{
		"of another package": {fault.New("omega", "need", errNeed), "omega: need: invalid quantity", []error{errNeed}},
		"of the same":        {fault.New("omega", "need", errJob), "omega: need: job", []error{errJob}},
		"of none":            {fault.New("omega", "file", io.EOF), "omega: file: EOF", []error{io.EOF}},
		"nothing to add":     {fault.New("omega", "", errNeed), "omega: invalid quantity", []error{errNeed}},
		"kinds":              {fault.New("omega", "need", errNeed, errJob, io.EOF), "omega: need: invalid quantity", []error{errNeed, errJob, io.EOF}},
		"a chain":            {fault.New("loop", "submit", fault.Newf("omega", errNeed, "claim %d", 3)), "loop: submit: claim 3: invalid quantity", []error{errNeed}},
		"a text":             {fault.Text("omega: unknown machine 7", errJob, io.EOF), "omega: unknown machine 7", []error{errJob, io.EOF}},
		"arguments":          {fault.Newf("omega", errNeed, "%q of %v", "a: omega: b", io.EOF), `omega: "a: omega: b" of EOF: invalid quantity`, []error{errNeed}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.EqualError(t, test.err, test.text)
			for _, is := range test.is {
				require.ErrorIs(t, test.err, is)
			}
		})
	}
	require.NotErrorIs(t, tests["arguments"].err, io.EOF)
}

func TestBare_TakesAPackageOfTheModuleAlone(t *testing.T) {
	for text, want := range map[string]string{
		"omega: conflict": "conflict", "conflict": "conflict", "json: bad": "json: bad", "omega:conflict": "omega:conflict",
		"a: omega: b": "a: omega: b", "pools: p": "p", "pool: p": "p", "resources: omega: twice": "omega: twice", "": "",
	} {
		require.Equal(t, want, fault.Bare(errors.New(text)))
	}
}

// Every sentinel has the name of its package in front, by which Bare knows it.
func TestSentinels_NameTheirPackage(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	known, read := 0, 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != root && (strings.HasPrefix(name, ".") || name == "bench" || name == "examples" || name == "internal" || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !ast.IsExported(spec.Names[0].Name) || len(spec.Values) != 1 {
				return true
			}
			call, ok := spec.Values[0].(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "New" {
				if text, ok := call.Args[0].(*ast.BasicLit); ok {
					read++
					require.Regexp(t, `^"`+file.Name.Name+`: [^:]{5,}"$`, text.Value, "%s: %s", path, spec.Names[0].Name)
				}
			}
			return true
		})
		for name := range file.Scope.Objects {
			if ast.IsExported(name) && strings.HasPrefix(name, "Err") {
				known++
				require.Equal(t, "text", fault.Bare(errors.New(file.Name.Name+": text")), "%s: %s", path, name)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, known, 50)
	require.Greater(t, read, 50)
}
