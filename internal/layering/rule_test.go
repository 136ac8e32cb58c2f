package layering_test

import (
	"fmt"
	"slices"
	"strings"
)

// source is a Go file and its imports. Paths of packages of this module are
// relative to the module.
type source struct {
	pkg, name string
	imports   []string
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// violations returns the files that break the import rule, and how.
func violations(files []source) (found []string) {
	var unlisted []string
	replaceableIn := ""
	for _, f := range files {
		from := row(f.pkg)
		allowed, listed := mayImport[from]
		client := slices.Contains(clients, from)
		if !listed && !client && !slices.Contains(unlisted, from) {
			unlisted = append(unlisted, from)
			found = append(found, fmt.Sprintf("package %q: no row in the table", from))
		}
		for _, path := range f.imports {
			to, own := strings.CutPrefix(path, module+"/")
			switch {
			case !own:
				if !external(path, f.test()) {
					found = append(found, fmt.Sprintf("%s/%s: imports %s, which is not a dependency of the core", f.pkg, f.name, path))
				}
			case within(to, "bench"):
				found = append(found, fmt.Sprintf("%s/%s: imports %s, which is not part of the core", f.pkg, f.name, to))
			case f.test() || client:
			case within(to, shared):
			case !within(row(to), from) && !slices.Contains(allowed, row(to)):
				found = append(found, fmt.Sprintf("%s/%s: imports %s, want its own subfolders or one of %q", f.pkg, f.name, to, allowed))
			}
			if path == replaceable && !f.test() {
				if replaceableIn != "" {
					found = append(found, fmt.Sprintf("%s/%s: imports %s, as does %s", f.pkg, f.name, path, replaceableIn))
				}
				replaceableIn = f.pkg + "/" + f.name
			}
		}
	}
	return found
}

// row returns the package with the row of pkg: its folder for a client, the parent
// of internal for a package below that, and pkg itself otherwise.
func row(pkg string) string {
	if top, _, _ := strings.Cut(pkg, "/"); slices.Contains(clients, top) {
		return top
	}
	parent, _, _ := strings.Cut(pkg+"/", "/internal/")
	return strings.TrimSuffix(parent, "/")
}

// external reports whether a package of another module, or of the standard
// library, may be imported.
func external(path string, test bool) bool {
	if host, _, _ := strings.Cut(path, "/"); !strings.Contains(host, ".") {
		return true // the standard library has no dot there
	}
	in := func(mod string) bool { return within(path, mod) }
	return slices.ContainsFunc(dependencies, in) || test && slices.ContainsFunc(testDependencies, in)
}

// within reports whether path is the folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
