package layering_test

const module = "github.com/cellsched/cellsched"

// mayImport has a row for each package of the module, whether or not it is
// written yet: the packages it may import besides its own subfolders. Packages
// under internal share their parent's row.
var mayImport = map[string][]string{
	"resources": {},
	"locality":  {"resources"},

	"drf":              {"resources"},
	"drf/allot":        {"resources", "drf"},
	"drf/gate":         {"resources", "drf"},
	"drf/pools":        {"resources", "drf", "drf/allot"},
	"delay":            {"resources", "locality"},
	"delay/late":       {"resources", "locality", "delay"},
	"delay/late/trial": {"locality", "delay/late"},
	"locality/quincy":  {"resources", "locality"},

	"omega":                     {"resources", "locality"},
	"omega/elastic":             {"resources", "omega"},
	"omega/federation":          {"resources", "locality", "drf", "drf/allot", "omega"},
	"omega/flow":                {"resources", "locality", "locality/quincy", "omega", "omega/observe"},
	"omega/journal":             {"resources", "omega"},
	"omega/journal/file":        {"omega/journal"},
	"omega/journal/journaltest": {"resources", "omega", "omega/journal"},
	"omega/loop":                {"resources", "locality", "drf", "drf/gate", "drf/pools", "delay", "omega", "omega/observe"},
	"omega/observe":             {"resources"},
	"omega/pool":                {"resources", "locality", "drf", "delay", "omega", "omega/journal", "omega/observe"},
	"omega/pool/poolhttp":       {"omega/pool"},
	"omega/score":               {"resources"},
	"omega/view":                {"resources", "omega", "omega/loop", "omega/observe", "omega/pool"},

	"offers":      {"resources", "locality", "drf", "omega", "omega/observe"},
	"offers/live": {"resources", "offers"},

	"internal/composition": {},
	"internal/cputime":     {},
	"internal/fault":       {},
	"internal/journals":    {"omega", "resources"},
	"internal/keys":        {},
	"internal/layering":    {},
	"internal/luby":        {},
	"internal/mcf":         {},
	"internal/network":     {},
	"internal/niltest":     {},
	"internal/servertest":  {"omega", "omega/pool", "resources"},
	"internal/shapes":      {},
	"internal/slots":       {},
}

// shared is the folder of packages that every package of the core may import. They
// have rows of their own.
const shared = "internal"

// clients are the folders with packages that may import all others, and which no
// other package imports.
var clients = []string{"examples"}

// Modules that the core may depend on. What needs another one is a nested
// module.
var (
	dependencies = []string{
		"github.com/google/btree",
		"github.com/puzpuzpuz/xsync/v3",
		"golang.org/x/exp",
	}
	testDependencies = []string{
		"github.com/anishathalye/porcupine",
		"github.com/stretchr/testify",
		"go.uber.org/goleak",
		"pgregory.net/rapid",
	}
)

// replaceable is imported by one file at most: it is no longer developed, and
// putting another tree in its place is to stay one file's work.
const replaceable = "github.com/google/btree"

// topLevel is all that the repository's top level holds, dot files aside.
var topLevel = []string{
	"bench", "delay", "drf", "examples", "internal", "locality", "offers", "omega", "resources",
	"go.mod", "go.sum",
	"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md",
}
