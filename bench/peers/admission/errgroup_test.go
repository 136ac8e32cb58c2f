package admission_test

import (
	"testing"

	"golang.org/x/sync/errgroup"
)

// errgroupPeer is golang.org/x/sync/errgroup with its only setting, SetLimit:
// a goroutine for each task, and a buffered channel that counts them. The group
// is the zero one, without a context, since a Go that waits ends with none.
type errgroupPeer struct {
	check
	group errgroup.Group
	run   func() error // made once, so that a submit pays for no closure of ours
}

func openErrgroup(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	p := &errgroupPeer{check: check{tb}, run: func() error { task(); return nil }}
	p.group.SetLimit(limit)
	return p
}

func (p *errgroupPeer) submit(int) { p.group.Go(p.run) }

func (p *errgroupPeer) wait() { p.must(p.group.Wait()) }
