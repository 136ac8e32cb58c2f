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

// shard is a part of the input; parsed, a shard that a worker has read.
type shard []string

type parsed struct {
	fset  *token.FileSet
	files []*ast.File
	bad   []string // what did not parse
}

// listShards deals out the Go files under dir, by default those of the Go
// installation.
func listShards(dir string, most int) (shards []shard, root string, err error) {
	if dir == "" {
		goroot, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, "", fmt.Errorf("looking for Go's source tree: %w", err)
		}
		dir = filepath.Join(strings.TrimSpace(string(goroot)), "src")
	}
	var files shard
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no Go files in %s", dir)
	}
	shards = make([]shard, min(most, len(files)))
	for i, f := range files {
		shards[i%len(shards)] = append(shards[i%len(shards)], f)
	}
	return shards, dir, err
}

// read is what a worker saves that has the shard already.
func (s shard) read() *parsed {
	p := &parsed{fset: token.NewFileSet()}
	for _, path := range s {
		f, err := parser.ParseFile(p.fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			p.bad = append(p.bad, path)
			continue
		}
		p.files = append(p.files, f)
	}
	return p
}

// counts is the answer to every question here; those of shards add up.
type counts map[string]int

func (c counts) add(more counts) {
	for k, n := range more {
		c[k] += n
	}
}

// An analysis adds what it finds in one shard.
type analysis func(*parsed, counts)

func (p *parsed) inspect(do func(ast.Node)) {
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool { do(n); return true })
	}
}

// identifiers counts them all; uses counts one.
func identifiers(p *parsed, c counts) {
	p.inspect(func(n ast.Node) {
		if id, ok := n.(*ast.Ident); ok {
			c[id.Name]++
		}
	})
}

func uses(symbol string) analysis {
	return func(p *parsed, c counts) {
		p.inspect(func(n ast.Node) {
			if id, ok := n.(*ast.Ident); ok && id.Name == symbol {
				c[symbol]++
			}
		})
	}
}

// complexity rates each function by McCabe: one, and one for each branch.
func complexity(p *parsed, c counts) {
	p.inspect(func(n ast.Node) {
		fn, ok := n.(*ast.FuncDecl)
		if !ok {
			return
		}
		name := fmt.Sprintf("%s %v", fn.Name, p.fset.Position(fn.Pos()))
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause:
				c[name]++
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					c[name]++
				}
			}
			return true
		})
	})
}
