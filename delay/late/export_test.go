package late

// Errors that tests tell apart; programs see ErrCall.
var (
	ErrAttempt  = errAttempt
	ErrCopied   = errCopied
	ErrNode     = errNode
	ErrTime     = errTime
	ErrProgress = errProgress
)

// Reasons that tests tell apart; programs print them.
const (
	Off         = off
	AtCap       = atCap
	SlowNode    = slowNodeAsks
	NoneRunning = noneRunning
	TooFew      = tooFew
	TooYoung    = tooYoung
	NoneSlow    = noneSlow
	OwnNode     = ownNode
	NoGain      = noGain
)
