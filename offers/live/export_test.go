package live

// Errors that tests tell apart; programs see offers.ErrConfig.
var (
	ErrInterval = errInterval
	ErrMember   = errMember
)
