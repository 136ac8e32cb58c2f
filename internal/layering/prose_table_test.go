package layering_test

// proseCeilings has a row for each package, or the tests of a package, with comments
// above plainProse. Rows may only fall: "go test ./internal/layering -run Prose -v
// -figures" prints the present figures.
var proseCeilings = map[string]ceiling{}
