package layering_test

// structureRow is a package, with the arrows between its files and how many lead up, or a type
// of it, with its methods and the files that they stand in.
type structureRow struct {
	name           string
	methods, files int
	arrows, up     int
}

// structureCeilings are the largest types and packages. Rows may only fall: "go test
// ./internal/layering -run Structure -v -figures" prints the present numbers.
var structureCeilings = []structureRow{
	{name: "offers", arrows: 463, up: 10},
	{name: "offers.Master", methods: 33, files: 7},
	{name: "offers.Framework", methods: 21, files: 4},
	{name: "omega/flow", arrows: 152, up: 7},
	{name: "omega/flow.Scheduler", methods: 27, files: 7},
	{name: "internal/slots", arrows: 196, up: 26},
	{name: "internal/slots.Net", methods: 117, files: 30},
	{name: "omega", arrows: 706, up: 99},
	{name: "omega.Cell", methods: 119, files: 29},
	{name: "omega.Scheduler", methods: 95, files: 23},
	{name: "omega/pool", arrows: 635, up: 93},
	{name: "omega/pool.Pool", methods: 36, files: 13},
	{name: "omega/loop", arrows: 109, up: 12},
	{name: "omega/loop.Loop", methods: 57, files: 9},
	{name: "omega/journal", arrows: 57, up: 13},
	{name: "omega/journal.Cell", methods: 51, files: 6},
	{name: "omega/federation", arrows: 78, up: 14},
	{name: "drf", arrows: 80, up: 13},
	{name: "drf.FairQueue", methods: 69, files: 8},
	{name: "drf/pools", arrows: 126, up: 25},
	{name: "drf/pools.core", methods: 85, files: 13},
}
