package layering_test

// proseCeilings has a row for each package, or the tests of a package, with comments
// above plainProse. Rows may only fall: "go test ./internal/layering -run Prose -v
// -figures" prints the present figures.
var proseCeilings = map[string]ceiling{
	"bench/plot":                     {3, 2.5, 14},
	"bench/quincy/experiments":       {2.5, 5, 12},
	"bench/quincy/experiments tests": {7, 2, 0},
	"bench/replay":                   {8, 5, 13},
	"bench/replay tests":             {15, 11, 0},
	"bench/sim":                      {6.5, 12.5, 0},
	"bench/sim/experiments":          {7, 14.5, 7},
	"bench/sim/experiments tests":    {8, 7, 1},
	"bench/sim/simulate":             {5, 4, 17},
	"bench/sim/simulate tests":       {5.5, 4, 1},
	"bench/trace":                    {3, 3.5, 9},
	"bench/trace tests":              {1.5, 3.5, 0},
	"examples/flow":                  {1.5, 4, 2},
	"examples/quickstart":            {1.5, 2, 1},
	"examples/twolevel":              {10.5, 4, 2},
	"omega":                          {2.5, 2.5, 37},
	"omega tests":                    {3, 2, 10},
	"omega/elastic":                  {4.5, 8, 6},
	"omega/elastic tests":            {16, 2, 1},
	"omega/internal/atomics":         {11.5, 4, 2},
	"omega/internal/explore":         {6, 2, 3},
	"omega/internal/explore tests":   {11, 8.5, 3},
	"omega/internal/reclaim":         {3, 2.5, 1},
	"omega/observe":                  {1.5, 2, 1},
	"omega/score":                    {2.5, 10, 1},
}
