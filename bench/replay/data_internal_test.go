package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/recordings"
)

func TestReplay_Alibaba(t *testing.T) {
	nodes := recordings.Find(t, "alibaba-gpu-2023/openb_node_list_all_node.csv")
	args := []string{"-format", "alibaba", "-nodes", nodes, "-by", "class", "-trace"}
	res := replayed(t, append(args, recordings.Find(t, "alibaba-gpu-2023/openb_pod_list_default.csv"))...)
	require.Equal(t, 8152, res.Ended)
	require.Len(t, res.Sharers, 4)

	// One pod asks for more memory than any machine of the model that it wants.
	bound := slices.Concat(args, []string{recordings.Find(t, "alibaba-gpu-2023/openb_pod_list_gpuspec33.csv")})
	err := run(bound, io.Discard, io.Discard)
	require.ErrorIs(t, err, errTooLarge)
	require.ErrorContains(t, err, `openb_pod_list_gpuspec33.csv:1641:16: a task of job "openb-pod-1639" needs cpu=120,memory=720Gi,gpu=8: machines of models "G2"`)
	res = replayed(t, append(bound, "-leave-out")...)
	require.Equal(t, 8151, res.Ended)
	require.Equal(t, 1, res.LeftOut)
}

func TestReplay_SWIM2009(t *testing.T) {
	res := replayed(t, "-format", "swim", "-machines", "600", "-spread", "10", "-trace",
		recordings.Find(t, "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv"))
	require.Equal(t, 5894, res.JobsEnded)
	require.Len(t, res.Sharers, 10)
}

// The file that names places: waiting brings tasks to their data.
func TestReplay_Rumen(t *testing.T) {
	args := []string{
		"-format", "rumen", "-size", "cpu=2,memory=4Gi", "-order", "fifo", "-trace",
		recordings.Find(t, "rumen-hadoop-2009/folder-input-trace.json.gz"), "-wait",
	}
	near, far := replayed(t, append(args, "5s,5s")...), replayed(t, append(args, "0s")...)
	require.Equal(t, 59, near.JobsEnded)
	require.Equal(t, 787+321, near.Ended)
	for _, res := range []result{near, far} {
		require.Equal(t, 541, res.Locality[0]+res.Locality[1]+res.Locality[2])
		require.Zero(t, res.Unknown)
	}
	require.Greater(t, near.Locality[0], far.Locality[0])
}

// go -C bench test -run '^$' -bench Replay -benchtime 1x ./replay
func BenchmarkReplay(b *testing.B) {
	for name, args := range map[string]func() []string{
		"trace=alibaba2023": func() []string {
			return []string{
				"-format", "alibaba", "-by", "class", "-trace", recordings.Find(b, "alibaba-gpu-2023/openb_pod_list_default.csv"),
				"-nodes", recordings.Find(b, "alibaba-gpu-2023/openb_node_list_all_node.csv"),
			}
		},
		"trace=swim2010": func() []string {
			return []string{
				"-format", "swim", "-machines", "3000", "-spread", "20", "-trace",
				recordings.Find(b, "swim-facebook/FB-2010_samples_24_times_1hr_withInputPaths_0.tsv"),
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			line := append(args(), "-json")
			var res result
			for b.Loop() {
				var out bytes.Buffer
				require.NoError(b, run(line, &out, io.Discard))
				require.NoError(b, json.Unmarshal(out.Bytes(), &res))
			}
			b.ReportMetric(res.PerSecond, "decisions/s")
		})
	}
}
