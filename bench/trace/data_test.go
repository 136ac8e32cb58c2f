package trace_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// data opens a recording, and skips the test where there is none.
func data(t *testing.T, path string) io.Reader {
	t.Helper()
	f, err := trace.Open(recordings.Find(t, path))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// The figures are those that were computed from the files when they were
// collected, with other programs.
func TestAlibaba_WholeTrace(t *testing.T) {
	for _, name := range []string{"openb_pod_list_default.csv", "openb_pod_list_gpuspec33.csv"} {
		pods, bound := 0, 0
		for j, err := range trace.Alibaba(name, data(t, "alibaba-gpu-2023/"+name)) {
			require.NoError(t, err)
			pods++
			if len(j.Work[0].Models) > 0 {
				bound++
			}
		}
		require.Equal(t, 8152, pods)
		require.Equal(t, map[string]int{"openb_pod_list_default.csv": 0, "openb_pod_list_gpuspec33.csv": 2388}[name], bound)
	}
	machines, total := 0, resources.Vector{}
	for m, err := range trace.AlibabaNodes("nodes", data(t, "alibaba-gpu-2023/openb_node_list_all_node.csv")) {
		require.NoError(t, err)
		machines++
		total = total.Add(m.Capacity)
	}
	require.Equal(t, 1523, machines)
	require.Equal(t, int64(6212)*1000, total[trace.GPU])
	require.Equal(t, int64(125514), total[trace.CPU]/1000)
	require.InDelta(t, 583.7, float64(total[trace.Memory])/(1<<40), 0.05)
}

func TestSWIM_WholeTraces(t *testing.T) {
	for name, want := range map[string]struct{ jobs, maps, paths int }{
		"FB-2009_samples_24_times_1hr_0.tsv":                {5894, 205713, 1},
		"FB-2010_samples_24_times_1hr_withInputPaths_0.tsv": {25428, 9004179, 17158},
	} {
		jobs, maps, paths := 0, 0, map[string]bool{}
		for j, err := range trace.SWIM(name, data(t, "swim-facebook/"+name), trace.MapReduce{}) {
			require.NoError(t, err)
			jobs++
			maps += j.Work[0].Count
			paths[j.Work[0].Input] = true
		}
		require.Equal(t, want.jobs, jobs)
		require.Equal(t, want.maps, maps)
		require.Len(t, paths, want.paths)
	}
}

func TestRumen_WholeTraces(t *testing.T) {
	for name, want := range map[string]struct{ jobs, maps, placed, reduces int }{
		"folder-input-trace.json.gz":            {59, 787, 541, 321},
		"job-tracker-logs-trace-output.json.gz": {3, 154, 154, 49}, // the fourth was killed before it ran anything
	} {
		var jobs, maps, placed, reduces int
		for j, err := range trace.Sorted(name, trace.Rumen(name, data(t, "rumen-hadoop-2009/"+name)), 64) {
			require.NoError(t, err)
			jobs++
			for _, w := range j.Work {
				if w.Stage > 0 {
					reduces++
					continue
				}
				maps++
				if len(w.Places) == 3 {
					placed++
				}
			}
		}
		require.Equal(t, want.jobs, jobs)
		require.Equal(t, want.maps, maps)
		require.Equal(t, want.placed, placed)
		require.Equal(t, want.reduces, reduces)
	}
	nodes, racks := 0, map[string]bool{}
	topology := data(t, "rumen-hadoop-2009/job-tracker-logs-topology-output.json")
	for m, err := range trace.RumenNodes("topology", topology, resources.Vector{1}) {
		require.NoError(t, err)
		nodes++
		racks[m.Rack] = true
	}
	require.Equal(t, 522, nodes)
	require.Len(t, racks, 41)
}
