package pool

import "time"

// setTimer has fn called after so long, by a timer that is made the first time and used again.
func setTimer(t **time.Timer, after time.Duration, fn func()) {
	if *t == nil {
		*t = time.AfterFunc(after, fn)
	} else {
		(*t).Reset(after)
	}
}
