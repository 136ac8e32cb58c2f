package admission_test

import (
	"sync"
	"testing"
)

// unboundedPeer is the go statement: no limit, and so no peer, but what the
// goroutine costs that some of them start for each task.
type unboundedPeer struct {
	left sync.WaitGroup
	task func()
}

func openUnbounded(_ testing.TB, _ int, task func()) peer { return &unboundedPeer{task: task} }

func (p *unboundedPeer) submit(int) { p.left.Go(p.task) }

func (p *unboundedPeer) wait() { p.left.Wait() }
