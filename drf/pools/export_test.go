package pools

// Errors that tests tell apart; programs see ErrValue.
var (
	ErrLimits = errLimits
	ErrFactor = errFactor
	ErrTime   = errTime
)
