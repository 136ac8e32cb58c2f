package locality

// Values that the docs state, for tests.
const (
	MaxPreferences = maxPreferences
)
