package flow

// Errors that tests tell apart; programs see ErrUnknown.
var (
	ErrRuns = errRuns
)
