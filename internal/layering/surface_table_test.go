package layering_test

// allPackages is the row of all public packages together.
const allPackages = "all packages"

// surfaceCeilings has a row for each package: the number of exported identifiers that
// it may have. Rows may only fall: "go test ./internal/layering -run Surface -v
// -figures" prints the present numbers.
var surfaceCeilings = map[string]int{
	allPackages: 1758,

	"delay/late":       64,
	"drf":              64,
	"drf/pools":        78,
	"locality":         87,
	"locality/quincy":  102,
	"offers":           160,
	"omega":            308,
	"omega/federation": 70,
	"omega/flow":       80,
	"omega/loop":       166,
	"omega/pool":       155,
}
