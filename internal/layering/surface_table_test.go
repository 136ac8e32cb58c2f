package layering_test

// allPackages is the row of all public packages together.
const allPackages = "all packages"

// surfaceCeilings has a row for each package: the number of exported identifiers that
// it may have. Rows may only fall: "go test ./internal/layering -run Surface -v
// -figures" prints the present numbers.
var surfaceCeilings = map[string]int{
	allPackages: 1776,

	"delay/late":       73,
	"drf":              65,
	"drf/pools":        78,
	"locality":         89,
	"locality/quincy":  102,
	"offers":           161,
	"omega":            310,
	"omega/federation": 70,
	"omega/flow":       81,
	"omega/loop":       168,
	"omega/pool":       154,
}
