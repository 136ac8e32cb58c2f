package admission_test

import (
	"sync"
	"testing"
)

// drive has tasks submitted by so many goroutines, each as many, and returns
// when the last one is.
func drive(p peer, submitters, tasks int) {
	var wg sync.WaitGroup
	for s := range submitters {
		from, to := s*tasks/submitters, (s+1)*tasks/submitters
		wg.Go(func() {
			for range to - from {
				p.submit(s)
			}
		})
	}
	wg.Wait()
}

// maxSubmitters is more than there are submitters anywhere.
const maxSubmitters = 64

// check is for errors that never occur here: nothing is cancelled or closed too early.
// It is no helper in the sense of testing, which would take longer to say so
// than some peers take to admit a task.
type check struct{ tb testing.TB }

func (c check) must(err error) {
	if err != nil {
		c.tb.Error(err)
	}
}
