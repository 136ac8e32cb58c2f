package admission_test

import (
	"context"
	"testing"
)

// channelPeer is a limit as programs write it by hand: a running task is an element of
// a buffered channel. It can be given up, as an Acquire of the others can.
type channelPeer struct {
	ctx   context.Context //nolint:containedctx // as long-lived as the peer
	slots chan struct{}
	task  func()
}

func openChannel(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return &channelPeer{ctx: tb.Context(), slots: make(chan struct{}, limit), task: task}
}

func (p *channelPeer) submit(int) {
	select {
	case p.slots <- struct{}{}:
		p.task()
		<-p.slots
	case <-p.ctx.Done():
	}
}

func (p *channelPeer) wait() {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
}
