package admission_test

import (
	"sync"
	"testing"
)

// unboundedPeer is the go statement. It has no limit, and so is no peer: it shows the
// cost of the goroutine that some of them start for each task.
type unboundedPeer struct {
	left sync.WaitGroup
	task func()
}

func openUnbounded(_ testing.TB, _ int, task func()) peer { return &unboundedPeer{task: task} }

func (p *unboundedPeer) submit(int) { p.left.Go(p.task) }

func (p *unboundedPeer) wait() { p.left.Wait() }
