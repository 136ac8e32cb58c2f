package layering_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// unlistedSurface is the number of exported identifiers that a package without a row
// in surfaceCeilings may have.
const unlistedSurface = 60

// standardMethods are methods that interfaces of the standard library ask for. They
// do not count: a reader knows them.
var standardMethods = []string{
	"AppendText", "Error", "Format", "GoString", "Is", "LogValue", "MarshalJSON",
	"MarshalText", "String", "UnmarshalJSON", "UnmarshalText", "Unwrap",
}

// exported returns the exported identifiers of the files of a package: constants,
// variables, functions and types, with the fields and methods of exported types.
// Promoted fields and methods do not count.
func exported(files []*ast.File) (names []string) {
	add := func(owner string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, owner+id.Name)
			}
		}
	}
	for _, f := range files {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add("", d.Name)
				} else if owner := receiver(d.Recv.List[0].Type); ast.IsExported(owner) && !slices.Contains(standardMethods, d.Name.Name) {
					add(owner+".", d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						add("", s.Names...)
					case *ast.TypeSpec:
						add("", s.Name)
						if s.Name.IsExported() {
							for _, field := range members(s.Type) {
								add(s.Name.Name+".", field.Names...)
							}
						}
					}
				}
			}
		}
	}
	return names
}

// receiver returns the name of the type of a receiver.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.ParenExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

// members returns the fields of a struct or the methods of an interface.
func members(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	default:
		return nil
	}
}

// surfaceViolations compares the numbers of exported identifiers of the packages with
// the ceilings. A row far above its number is a violation, so that rows fall.
func surfaceViolations(counted, ceilings map[string]int) (found []string) {
	for name, n := range counted {
		row, listed := ceilings[name]
		if !listed {
			row = unlistedSurface
		}
		switch {
		case n > row:
			found = append(found, fmt.Sprintf("%s: %d exported identifiers, want %d at most", name, n, row))
		case listed && n < row-row/20:
			found = append(found, fmt.Sprintf("%s: %d exported identifiers: lower the row from %d", name, n, row))
		}
	}
	for name := range ceilings {
		if _, is := counted[name]; !is {
			found = append(found, fmt.Sprintf("%s: a row without a package", name))
		}
	}
	slices.Sort(found)
	return found
}

// public reports whether users of the module can import the package of a folder.
func public(folder string) bool {
	parts := strings.Split(folder, "/")
	return folder != "." && !slices.Contains(parts, "internal") && !slices.Contains(clients, parts[0])
}
