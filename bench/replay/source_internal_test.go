package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Submissions at 0 and 40 s come to be at 0 and 10 s: on one slot the second
// waits for the first, which takes as long as ever.
func TestCompress_DividesTimesOfSubmissionOnly(t *testing.T) {
	path := text(t, "job,submit_s,tasks,duration_s,cpu", "a,100,1,30,1", "b,140,1,30,1")
	args := []string{"-trace", path, "-machines", "1", "-size", "cpu=1"}
	res := replayed(t, args...)
	require.Equal(t, 70.0, res.Span)
	require.Zero(t, res.JobWait.Mean)
	res = replayed(t, append(args, "-compress", "4")...)
	require.Equal(t, 60.0, res.Span)
	require.InDelta(t, 20.0/2, res.JobWait.Mean, 1e-9)
}

// Jobs without a user go to so many users in turn; the others stay with their users.
func TestSpread_GoesInTurn(t *testing.T) {
	path := text(t, "job,user,submit_s,tasks,duration_s,cpu", "a,,0,1,1,1", "b,,0,2,1,1", "c,ada,0,4,1,1", "d,,0,8,1,1")
	tasks := map[string]int{}
	for _, s := range replayed(t, "-trace", path, "-machines", "2", "-spread", "2").Sharers {
		tasks[s.Name] = s.Tasks
	}
	require.Equal(t, map[string]int{"user0": 1 + 8, "user1": 2, "ada": 4}, tasks)
}
