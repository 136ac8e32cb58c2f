package late

// Errors that tests tell apart; programs see ErrCall.
var (
	ErrAttempt  = errAttempt
	ErrCopied   = errCopied
	ErrNode     = errNode
	ErrTime     = errTime
	ErrProgress = errProgress
)
