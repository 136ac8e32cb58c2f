package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func runs(t *testing.T, by func(*pool) (scheduler, error)) result {
	t.Helper()
	p, err := newPool()
	require.NoError(t, err)
	s, err := by(p)
	require.NoError(t, err)
	r, err := p.run(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, tasks, r.tasks)
	return r
}

func TestFlow_FetchesLessAndIsDoneSooner(t *testing.T) {
	one, all := runs(t, newGreedy), runs(t, newFlow)
	require.Less(t, 2*(all.near+all.far), one.near+one.far)
	require.Less(t, 5*all.took, 4*one.took)
	require.Less(t, all.waited, one.waited)

	var out bytes.Buffer
	require.NoError(t, flows(t.Context(), nil, &out))
	require.Contains(t, out.String(), "of scan waits; 80 of the job run, want 0 to 80: its share is used up\n")
	require.Regexp(t, `\n  cluster: cost [1-9]\d*, no other task of the job can stop for it\n`, out.String())
}
