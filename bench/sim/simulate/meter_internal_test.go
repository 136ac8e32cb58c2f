package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A job of which tasks were preempted is in parts, and ends once, with the last.
func TestMeters_CloseAJobWithItsLastPart(t *testing.T) {
	job := Job{Submit: time.Second}
	for _, abandoned := range []bool{false, true} {
		m := newMeters(1)
		m.begin(0, time.Second)
		m.begin(0, 5*time.Second)
		m.end(0, &job, 2*time.Second, abandoned)
		require.Zero(t, m.class[Batch].Full+m.class[Batch].Abandoned, "a part is left")
		m.end(0, &job, 9*time.Second, false)
		m.begin(0, 20*time.Second) // preempted again
		m.end(0, &job, 21*time.Second, false)

		c := m.metrics()[Batch]
		if abandoned {
			require.Equal(t, []int{0, 1, 0}, []int{c.Full, c.Abandoned, c.WaitFull.Count}, "without a part of it a job is not placed")
		} else {
			require.Equal(t, []int{1, 0, 1}, []int{c.Full, c.Abandoned, c.WaitFull.Count})
			require.Equal(t, 8*time.Second, c.WaitFull.Mean)
		}
	}
}

// Where parts overlap, no time in the queue counts twice.
func TestMeters_CountTheTimeInTheQueueOnce(t *testing.T) {
	m := newMeters(1)
	m.begin(0, 0)
	m.begin(0, 5*time.Second)
	m.pick(0, 10*time.Second)
	m.pick(0, 12*time.Second)
	m.delay(0, 20*time.Second)
	m.pick(0, 23*time.Second)
	require.Equal(t, (5+2+3)*time.Second, m.jobs[0].queued)
}
