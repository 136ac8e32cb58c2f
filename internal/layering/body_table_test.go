package layering_test

// bodyFloors has a row for each package with a smaller share of its comments inside bodies
// than insideBodies. Rows may only rise: "go test ./internal/layering -run Comments -v
// -figures" prints the present shares.
var bodyFloors = map[string]int{
	"delay":                  4,
	"delay/late":             2,
	"drf":                    6,
	"drf/allot":              3,
	"drf/gate":               8,
	"drf/pools":              4,
	"internal/slots":         5,
	"locality":               5,
	"locality/quincy":        4,
	"offers":                 6,
	"omega":                  8,
	"omega/elastic":          1,
	"omega/federation":       3,
	"omega/flow":             8,
	"omega/journal":          4,
	"omega/journal/postgres": 4,
	"omega/loop":             3,
	"omega/pool":             7,
	"omega/score":            2,
	"omega/view":             9,
	"resources":              10,
}
