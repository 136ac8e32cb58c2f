package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
)

// shard is a part of the input, parsed one that was read.
type shard []string

type parsed struct {
	fset  *token.FileSet
	files []*ast.File
	bad   []string // what does not parse
}

// listShards deals out the Go files of a directory, or of the Go installation.
func listShards(dir string, most int) (shards []shard, root string, err error) {
	if dir == "" {
		goroot, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, "", fmt.Errorf("looking for Go's source tree: %w", err)
		}
		dir = filepath.Join(strings.TrimSpace(string(goroot)), "src")
	}
	n := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			if n < most {
				shards = append(shards, nil)
			}
			shards[n%most] = append(shards[n%most], path)
			n++
		}
		return err
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("no Go files in %s", dir)
	}
	return shards, dir, err
}

func (s shard) read() *parsed {
	p := &parsed{fset: token.NewFileSet()}
	for _, path := range s {
		if f, err := parser.ParseFile(p.fset, path, nil, parser.SkipObjectResolution); err == nil {
			p.files = append(p.files, f)
		} else {
			p.bad = append(p.bad, path)
		}
	}
	return p
}

// An analysis counts something in a file. Counts of files add up.
type (
	analysis func(*token.FileSet, *ast.File, counts)
	counts   map[string]int
)

// identifiers counts one symbol, or all if it is empty.
func identifiers(symbol string) analysis {
	return func(_ *token.FileSet, f *ast.File, c counts) {
		for n := range ast.Preorder(f) {
			if id, ok := n.(*ast.Ident); ok && (symbol == "" || symbol == id.Name) {
				c[id.Name]++
			}
		}
	}
}

// complexity is McCabe's: for each function one, and one for each branch.
func complexity(fset *token.FileSet, f *ast.File, c counts) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%s %v", fn.Name, fset.Position(fn.Pos()))
		for n := range ast.Preorder(fn) {
			switch n := n.(type) {
			case *ast.FuncDecl, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause:
				c[name]++
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					c[name]++
				}
			}
		}
	}
}
