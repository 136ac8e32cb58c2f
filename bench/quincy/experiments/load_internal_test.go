package experiments

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/locality"
)

func TestDisks_PutCopiesInTwoRacks(t *testing.T) {
	c, err := even(5, 4, 1, 1, 1)
	require.NoError(t, err)
	d := newDisks(c, rand.New(rand.NewPCG(1, 1)))
	count := make([]int, len(c.rack))
	for range 20_000 {
		nodes := d.copies()
		require.Len(t, nodes, 3)
		require.NotEqual(t, c.rack[nodes[0]], c.rack[nodes[1]])
		require.Equal(t, c.rack[nodes[1]], c.rack[nodes[2]])
		require.NotEqual(t, nodes[1], nodes[2])
		for _, n := range nodes {
			count[n]++
		}
	}
	for _, copies := range count {
		require.InDelta(t, 3000, copies, 250, "they are anywhere")
	}
}

func TestDisks_DoWithFewMachines(t *testing.T) {
	for _, tt := range []struct{ racks, machines, copies int }{{1, 1, 1}, {1, 9, 1}, {2, 1, 2}, {2, 2, 3}} {
		c, err := even(tt.racks, tt.machines, 1, 1, 1)
		require.NoError(t, err)
		b := newDisks(c, rand.New(rand.NewPCG(1, 1))).block(7)
		require.Len(t, b.Nodes, tt.copies)
		require.True(t, slices.IsSorted(b.Nodes))
		require.Equal(t, int64(7), b.Bytes)
	}
}

func TestSynthetic_KeepsSlotsBusy(t *testing.T) {
	busy := 0.0
	for seed := range uint64(10) {
		s, err := synthetic(Options{}, seed, time.Hour, 1, wide, costs(2))
		require.NoError(t, err)
		sum := time.Duration(0)
		for i, j := range s.jobs {
			require.Less(t, j.at, time.Hour)
			require.True(t, i == 0 || j.at >= s.jobs[i-1].at)
			for _, one := range j.tasks {
				sum += one.run
			}
		}
		busy += sum.Hours() / 240 / 10
	}
	require.InDelta(t, 0.85, busy, 0.06)
}

func TestSynthetic_ComesFasterInABatch(t *testing.T) {
	one, err := synthetic(Options{}, 1, 15*time.Minute, 1, narrow, costs(20))
	require.NoError(t, err)
	batch, err := synthetic(Options{}, 1, 15*time.Minute, 15, narrow, costs(20))
	require.NoError(t, err)
	require.Len(t, batch.jobs, len(one.jobs))
	for i, j := range batch.jobs {
		require.Equal(t, one.jobs[i].tasks, j.tasks)
		require.InDelta(t, one.jobs[i].at.Seconds()/15, j.at.Seconds(), 1e-3)
	}
}

func TestFacebook_SharesFiles(t *testing.T) {
	s, err := facebook(Options{Data: filepath.Dir(recordings.Find(t, "swim-facebook"))}, 1)
	require.NoError(t, err)
	require.Len(t, s.jobs, 222)
	blocks, reads := make(map[*locality.Node]bool), 0
	for _, j := range s.jobs {
		require.Less(t, j.at, 20*time.Minute)
		for _, one := range j.tasks {
			require.GreaterOrEqual(t, one.run, time.Second)
			for _, b := range one.input {
				require.LessOrEqual(t, b.Bytes, int64(128*mib))
				require.Positive(t, b.Bytes)
				blocks[&b.Nodes[0]] = true
				reads++
			}
		}
	}
	require.Less(t, len(blocks), reads*9/10, "some are read more than once")
	require.InDelta(t, 9, s.task.Seconds(), 3, "8 s for a block, and a second to begin")
}

func TestHadoop_HasTheLog(t *testing.T) {
	s, err := hadoop(Options{Data: filepath.Dir(recordings.Find(t, "rumen-hadoop-2009"))}, 1)
	require.NoError(t, err)
	tasks, choosy := 0, 0
	for _, j := range s.jobs {
		require.GreaterOrEqual(t, j.at, hadoopBefore)
		tasks += len(j.tasks)
		for _, one := range j.tasks {
			if len(one.input) > 0 {
				choosy++
			}
		}
	}
	require.Equal(t, 787, tasks)
	require.Equal(t, 541, choosy)
	require.InDelta(t, 85, s.cell.racks, 15)
	o := s.others()
	busy, free := time.Duration(0), time.Duration(0)
	for range 20_000 {
		busy += o.load()
		free += o.gap()
	}
	require.InDelta(t, 0.9, busy.Seconds()/(busy+free).Seconds(), 0.01)

	short, err := hadoop(Options{Data: filepath.Dir(recordings.Find(t, "rumen-hadoop-2009")), Span: time.Minute}, 1)
	require.NoError(t, err)
	require.Less(t, len(short.jobs), len(s.jobs))
	require.NotEmpty(t, short.jobs)
}
