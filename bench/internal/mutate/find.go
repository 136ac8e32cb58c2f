package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"strings"
)

// find returns the candidates in one source file, in the order of the source.
// Calls that make errors and text are left alone: their wording is not under
// test here.
func find(file string, source []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{fset: fset, file: file, source: source}
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !speaks(fn) {
			f.in = fn.Name.Name
			f.locks(fn.Body)
			ast.Inspect(fn.Body, f.visit)
		}
	}
	return f.found, nil
}

type finder struct {
	fset   *token.FileSet
	file   string
	source []byte
	in     string // function
	found  []mutant
}

// speaks reports whether the function only makes text.
func speaks(fn *ast.FuncDecl) bool {
	switch fn.Name.Name {
	case "String", "Error", "GoString", "LogValue":
		return true
	}
	return false
}

// lockDropped is the kind of mutant that takes no lock.
const lockDropped = "lock dropped"

// alwaysSwaps is the kind of mutant that stores instead of comparing first.
const alwaysSwaps = "always swaps"

// explored are the arguments of go test, by package, with which the schedule
// explorer runs that package's atomic operations.
var explored = map[string][]string{
	"omega":    {"-tags", "explore", "./omega"},
	"drf/gate": {"-tags", "explore", "-run", "Gate", "./omega/internal/explore"},
}

// swaps are the operators that take one another's place.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.REM: token.MUL, token.SHL: token.SHR, token.SHR: token.SHL,
	token.AND: token.OR, token.OR: token.AND, token.AND_NOT: token.AND,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// visit adds the mutants of one node.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if to, ok := swaps[n.Op]; ok {
			f.token("operator", n.OpPos, n.Op, to)
		}
	case *ast.IfStmt:
		f.replace("condition", n.Cond, "!("+f.text(n.Cond)+")")
		if n.Else == nil && n.Init == nil && leaves(n.Body) {
			f.replace("early exit dropped", n.Cond, "false && ("+f.text(n.Cond)+")")
		}
	case *ast.AssignStmt:
		if to, ok := swaps[n.Tok]; ok {
			f.token("operator", n.TokPos, n.Tok, to)
		}
		if n.Tok != token.DEFINE {
			f.replace("statement dropped", n, "")
		}
	case *ast.IncDecStmt:
		f.token("operator", n.TokPos, n.Tok, swaps[n.Tok])
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !isLock(call) {
			f.replace("call dropped", n, "")
		}
	case *ast.DeferStmt:
		if !isLock(n.Call) {
			f.replace("defer dropped", n, "")
		}
	case *ast.BranchStmt:
		switch {
		case n.Tok == token.CONTINUE:
			f.token("branch", n.TokPos, n.Tok, token.BREAK)
		case n.Tok == token.BREAK && n.Label == nil:
			f.token("branch", n.TokPos, n.Tok, token.CONTINUE)
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.replace("constant", n, "("+n.Value+" + 1)")
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			f.replace("constant", n, "false")
		case "false":
			f.replace("constant", n, "true")
		}
	case *ast.CallExpr:
		return f.call(n)
	}
	return true
}

// call adds the mutants of a call, and reports whether its arguments are to be
// looked at, too.
func (f *finder) call(n *ast.CallExpr) bool {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		switch fun.Name {
		case "min":
			f.replace("operator", fun, "max")
		case "max":
			f.replace("operator", fun, "min")
		case "panic", "make", "len", "cap":
			return false
		}
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && (x.Name == "fmt" || x.Name == "errors" || x.Name == "strconv") {
			return false
		}
		if fun.Sel.Name == "CompareAndSwap" && len(n.Args) == 2 {
			f.replace(alwaysSwaps, n, "func() bool { "+f.text(fun.X)+".Store("+f.text(n.Args[1])+"); return true }()")
		}
	}
	return true
}

// locks adds a mutant for each mutex that the body takes and gives back: one
// that does neither.
func (f *finder) locks(body *ast.BlockStmt) {
	calls := map[string][]ast.Stmt{}
	var order []string
	ast.Inspect(body, func(n ast.Node) bool {
		var call *ast.CallExpr
		switch s := n.(type) {
		case *ast.ExprStmt:
			call, _ = s.X.(*ast.CallExpr)
		case *ast.DeferStmt:
			call = s.Call
		}
		if call != nil && isLock(call) {
			of := f.text(call.Fun.(*ast.SelectorExpr).X)
			if calls[of] == nil {
				order = append(order, of)
			}
			calls[of] = append(calls[of], n.(ast.Stmt))
		}
		return true
	})
	for _, of := range order {
		// One edit reaches from the first call to the last, without the calls.
		all := calls[of]
		from, to := f.offset(all[0].Pos()), f.offset(all[len(all)-1].End())
		var text strings.Builder
		at := from
		for _, s := range all {
			text.Write(f.source[at:f.offset(s.Pos())])
			at = f.offset(s.End())
		}
		f.add(lockDropped, all[0].Pos(), edit{from, to, text.String()})
	}
}

func isLock(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	switch sel.Sel.Name {
	case "Lock", "Unlock", "RLock", "RUnlock":
		return true
	}
	return false
}

// leaves reports whether the body does nothing but leave the function or the
// loop.
func leaves(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	switch body.List[0].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

func (f *finder) token(kind string, at token.Pos, from, to token.Token) {
	o := f.offset(at)
	f.add(kind, at, edit{o, o + len(from.String()), to.String()})
}

func (f *finder) replace(kind string, n ast.Node, text string) {
	f.add(kind, n.Pos(), edit{f.offset(n.Pos()), f.offset(n.End()), text})
}

func (f *finder) add(kind string, at token.Pos, e edit) {
	m := mutant{file: f.file, line: f.fset.Position(at).Line, in: f.in, name: kind, edits: []edit{e}, test: []string{"./" + path.Dir(f.file)}}
	switch kind {
	case lockDropped:
		m.test = append([]string{"-race"}, m.test...) // the race detector sees most
		m.more = explored[path.Dir(f.file)]           // others guard what is atomic
	case alwaysSwaps:
		m.more = explored[path.Dir(f.file)] // one interleaving in many shows it
	}
	f.found = append(f.found, m)
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// text returns the source of a node, as it would be formatted.
func (f *finder) text(n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, f.fset, n); err != nil {
		return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
	}
	return b.String()
}
