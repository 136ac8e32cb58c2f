package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// Data frames write large numbers with an exponent, and whole ones with a fraction.
func TestReaders_ReadExponents(t *testing.T) {
	mib := int64(1 << 20)
	t.Run("csv", func(t *testing.T) {
		text := "job,submit_s,tasks,duration_s,priority,stage,cpu,memory,gpu\n" +
			"a,2.67754e+06,1.2e1,3.125E1,-1e1,0e0,2.5e-1,2.67754e+06,5e-1\n" +
			"b,2677540.5e0,2.0,2e-9,,,1e0,1E3,\n"
		got := all(t, trace.CSV("f", strings.NewReader(text), trace.Space()))
		require.Len(t, got, 2)
		require.Equal(t, 2_677_540*time.Second, got[0].Submit)
		require.Equal(t, int64(-10), got[0].Priority)
		require.Equal(t, 12, got[0].Work[0].Count)
		require.Equal(t, 31_250*time.Millisecond, got[0].Work[0].Duration)
		require.Equal(t, resources.Vector{250, 2_677_540, 500}, got[0].Work[0].Need)
		require.Equal(t, 2_677_540*time.Second+time.Second/2, got[1].Submit)
		require.Equal(t, 2, got[1].Work[0].Count)
		require.Equal(t, 2*time.Nanosecond, got[1].Work[0].Duration)
		require.Equal(t, resources.Vector{1000, 1000}, got[1].Work[0].Need)
	})
	t.Run("suffixes stay what they are", func(t *testing.T) {
		got := all(t, trace.CSV("f", strings.NewReader("job,submit_s,tasks,duration_s,cpu,memory\na,0,1,1,500m,1E\nb,0,1,1,1,1Ei\n"), trace.Space()))
		require.Equal(t, int64(1e18), got[0].Work[0].Need[trace.Memory])
		require.Equal(t, int64(1<<60), got[1].Work[0].Need[trace.Memory])
	})
	t.Run("as large as quantities are", func(t *testing.T) {
		got := all(t, trace.CSV("f", strings.NewReader("job,submit_s,tasks,duration_s,memory\na,0,1,1,1e18\n"), trace.Space()))
		require.Equal(t, int64(1e18), got[0].Work[0].Need[trace.Memory])
	})
	t.Run("csv nodes", func(t *testing.T) {
		got := all(t, trace.CSVNodes("f", strings.NewReader("name,cpu,memory\nn,6.4e1,1.28e+11\n"), trace.Space()))
		require.Equal(t, resources.Vector{64_000, 128_000_000_000}, got[0].Capacity)
	})
	t.Run("users", func(t *testing.T) {
		got, err := trace.Users("f", strings.NewReader("user,weight\nada,1e+03\ngrace,2.5e-1\n"))
		require.NoError(t, err)
		require.Equal(t, map[string]float64{"ada": 1000, "grace": 0.25}, got)
	})
	t.Run("swim", func(t *testing.T) {
		got := all(t, trace.SWIM("f", strings.NewReader("job0\t1.5e1\t0.0\t2.67754e+06\t0e0\t3\n"), trace.MapReduce{Rate: 1, Block: 1 << 40}))
		require.Equal(t, 15*time.Second, got[0].Submit)
		require.Equal(t, 2_677_543*time.Second, got[0].Work[0].Duration)
	})
	t.Run("alibaba", func(t *testing.T) {
		got := all(t, trace.Alibaba("f", strings.NewReader(pods+"a,1.2e4,1.6384e+04,1.0,5e2,,LS,Running,9.4e2,1.2537496e+07,1e3\n")))
		require.Equal(t, resources.Vector{12_000, 16_384 * mib, 500}, got[0].Work[0].Need)
		require.Equal(t, 940*time.Second, got[0].Submit)
		require.Equal(t, 12_536_496*time.Second, got[0].Work[0].Duration)
	})
	t.Run("alibaba nodes", func(t *testing.T) {
		got := all(t, trace.AlibabaNodes("f", strings.NewReader(nodes+"n,3.2e4,2.62144e+05,2.0,T4\n")))
		require.Equal(t, resources.Vector{32_000, 262_144 * mib, 2000}, got[0].Capacity)
	})
	t.Run("rumen", func(t *testing.T) {
		text := `{"jobID": "j", "submitTime": 1.2345e+04, "heapMegabytes": 5.12e2, "mapTasks": [{"attempts": [{"startTime": 2e4, "finishTime": 2.15E4, "result": "SUCCESS"}]}]}`
		got := all(t, trace.Rumen("f", strings.NewReader(text)))
		require.Equal(t, 12_345*time.Millisecond, got[0].Submit)
		require.Equal(t, 1500*time.Millisecond, got[0].Work[0].Duration)
		require.Equal(t, 512*mib, got[0].Work[0].Need[trace.Memory])
	})
}

// A value that is not a number, not whole or too large is refused at its place.
func TestReaders_RefuseNumbersThatAreNone(t *testing.T) {
	for _, bad := range []string{"NaN", "Inf", "-Inf", "+1e3", "1e", "1e+", "e5", ".5", "1_0", "0x1p4", "1e999999999999", "9.3e18", "1e-1", "2.5"} {
		for name, read := range formats() {
			text, line, column := "", 2, 0
			switch name {
			case "csv":
				text, column = own+"a,0,"+bad+",1,1,,,,,,,\n", 5
			case "alibaba":
				text, column = pods+"a,1000,0,0,0,,LS,Running,"+bad+",10,5\n", 26
			case "alibaba nodes":
				text, column = nodes+"n,"+bad+",1,0,\n", 3
			case "swim":
				text, line, column = "job0\t1\t1\t"+bad+"\t0\t3\n", 1, 10
			default:
				continue
			}
			err := read(t, text)
			require.ErrorIs(t, err, trace.ErrValue, "%s %s", name, bad)
			require.ErrorContains(t, err, fmt.Sprintf("trace: f:%d:%d: ", line, column), "%s %s", name, bad)
			require.ErrorContains(t, err, fmt.Sprintf("%q, want a whole number from ", bad), "%s %s", name, bad)
		}
	}
	// Ends are those of the column, exactly.
	for text, want := range map[string]string{
		"a,1e-10,1,1,1,,,,,,,\n":                    `f:2:3: submit_s "1e-10", want seconds from 0 to 9223372035, with 9 decimals at most`,
		"a,9.223372036e9,1,1,1,,,,,,,\n":            `f:2:3: submit_s "9.223372036e9", want seconds`,
		"a,-0e0,1,1,1,,,,,,,\n":                     `f:2:3: submit_s "-0e0", want seconds`,
		"a,0,2.147483648e9,1,1,,,,,,,\n":            `f:2:5: tasks "2.147483648e9", want a whole number from 1 to 2147483647`,
		"a,0,1,NaN,1,,,,,,,\n":                      `f:2:7: duration_s "NaN", want seconds`,
		"a,0,1,1,1e999,,,,,,,\n":                    `f:2:9: cpu "1e999", want a quantity`,
		"a,0,1,1,1e-4,,,,,,,\n":                     `f:2:9: cpu "1e-4", want a quantity`,
		"a,0,1,1,-1e3,,,,,,,\n":                     `f:2:9: cpu "-1e3", want a quantity`,
		"a,0,1,1,Inf,,,,,,,\n":                      `f:2:9: cpu "Inf", want a quantity`,
		"a,0,1,1,1e3Ki,,,,,,,\n":                    `f:2:9: cpu "1e3Ki", want a quantity`,
		"a,0,1,1,1,,,9.223372036854775808e18,,,,\n": `f:2:13: priority "9.223372036854775808e18", want a whole number`,
	} {
		require.ErrorContains(t, formats()["csv"](t, own+text), want)
	}
	for bad, format := range map[string]string{"1.5": "rumen", "1e-3": "rumen", "1e30": "rumen", "9.3e18": "rumen"} {
		err := formats()[format](t, `{"jobID": "j", "submitTime": `+bad+`}`)
		require.ErrorContains(t, err, fmt.Sprintf("submitTime is %s, want a whole number from 0 to 9223372036854", bad))
	}
	for _, bad := range []string{"NaN", "Inf", "1e-7", "1e7", "-1e0", "0x1p3", "1e-999"} {
		require.ErrorContains(t, formats()["users"](t, "user,weight\nada,"+bad+"\n"), fmt.Sprintf(`f:2:5: weight %q, want a decimal number`, bad))
	}
}
