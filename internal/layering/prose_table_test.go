package layering_test

// proseCeilings has a row for each package, or the tests of a package, with comments
// above plainProse. Rows may only fall: "go test ./internal/layering -run Prose -v
// -figures" prints the present figures.
var proseCeilings = map[string]ceiling{
	"omega":                        {2.5, 2.5, 37},
	"omega tests":                  {3, 2, 10},
	"omega/elastic":                {4.5, 8, 6},
	"omega/elastic tests":          {16, 2, 1},
	"omega/internal/atomics":       {11.5, 4, 2},
	"omega/internal/explore":       {6, 2, 3},
	"omega/internal/explore tests": {11, 8.5, 3},
	"omega/internal/reclaim":       {3, 2.5, 1},
	"omega/observe":                {1.5, 2, 1},
	"omega/score":                  {2.5, 10, 1},
}
