package trace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A job that does not end is refused before it takes all memory.
func TestReaders_BoundJobSizes(t *testing.T) {
	require.Equal(t, maxGroups, newCSV("f", nil, Space()).most)
	require.Equal(t, maxGroups, newTokens("f", nil).most)

	c := newCSV("f", strings.NewReader("job,submit_s,tasks,duration_s,cpu\na,1,1,1,1\n"+strings.Repeat("a,,1,1,1\n", 9)), Space())
	c.most = 3
	var err error
	c.jobs(func(_ Job, e error) bool { err = e; return e == nil })
	require.ErrorIs(t, err, ErrLong)
	require.EqualError(t, err, `trace: f:5:1: job "a" has more than 3 lines: too long`)

	tokens := newTokens("f", strings.NewReader(`{"mapTasks": [`+strings.Repeat(`{"attempts": [{"startTime": 1, "finishTime": 2}]},`+"\n", 9)))
	tokens.most = 3
	_, err = tokens.rumenJob()
	require.ErrorIs(t, err, ErrLong)
	require.EqualError(t, err, `trace: f:4:50: more than 3 of mapTasks: too long`)
}
