package admission_test

import "testing"

// A peer runs one task again and again, no more than so many at a time.
type peer interface {
	// submit has the task run once more, in the calling goroutine or in
	// another, and may wait for that until one that runs has ended. It is
	// called by many goroutines; submitter says by which.
	submit(submitter int)
	// wait blocks until all that was submitted has run. It is called once,
	// after the last submit.
	wait()
}

// A contender opens a peer for a limit and a task. The cleanup of tb removes the rest
// that the peer would leave behind after wait.
type contender struct {
	name string
	open func(tb testing.TB, limit int, task func()) peer
}

// inPlace are those that admit the goroutine that asks: it runs the task.
func inPlace() []contender {
	return []contender{
		{"pool", openPool},
		{"pool-tenants", openPoolOfTenants},
		{"pool-rated", openPoolRated},
		{"semaphore", openSemaphore},
		{"channel", openChannel},
	}
}

// elsewhere are those that run the task in another goroutine.
func elsewhere() []contender {
	return []contender{
		{"pool", openPoolGo},
		{"pool-tenants", openPoolOfTenantsGo},
		{"pool-workers", openPoolWorkers},
		{"pool-queue", openPoolQueue},
		{"pool-queue-tenants", openPoolQueueOfTenants},
		{"semaphore", openSemaphoreGo},
		{"errgroup", openErrgroup},
		{"conc", openConc},
		{"pond", openPond},
		{"ants", openAnts},
	}
}
