package drf

// Values that the docs state, for tests.
const (
	DefaultMaxSkips = defaultMaxSkips
)
