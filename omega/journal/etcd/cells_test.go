package etcd_test

import (
	"sync"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
)

// Four processes share a cell while the leader of three members stops, for good.
func TestStore_IsShared(t *testing.T) {
	m := cluster(t, 3)
	ended := make(chan struct{})
	var stopping sync.WaitGroup
	stopping.Go(func() {
		for stopped := false; !stopped; {
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
			}
			if i := m.leader(); i >= 0 {
				m.stop(i)
				stopped = true
			}
		}
	})
	defer stopping.Wait()
	defer close(ended)
	journaltest.Share(t, 10<<10, func() journal.Store { return open(t, connect(t, m.endpoints), "cell") })
}
