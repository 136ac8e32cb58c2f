package trace_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// endless is a file that begins with head and then repeats text, and counts the bytes
// that have been read of it.
type endless struct {
	rest, text string
	read       int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest, e.read = e.rest[n:], e.read+n
	return n, nil
}

// A file without end is read as far as one walks, and no farther than a buffer.
func TestReaders_Stream(t *testing.T) {
	task := `{"attempts": [{"startTime": 1, "finishTime": 2}]}`
	tests := map[string]struct {
		head, text string
		walk       func(r io.Reader, more func(error) bool)
	}{
		"alibaba": {pods, "a,1000,0,0,0,,LS,Running,0,10,5\n", func(r io.Reader, more func(error) bool) {
			trace.Alibaba("f", r)(func(_ trace.Job, err error) bool { return more(err) })
		}},
		"alibaba nodes": {nodes, "a,1000,0,0,\n", func(r io.Reader, more func(error) bool) {
			trace.AlibabaNodes("f", r)(func(_ trace.Machine, err error) bool { return more(err) })
		}},
		"swim": {"", "job0\t1\t1\t2\t0\t3\n", func(r io.Reader, more func(error) bool) {
			trace.SWIM("f", r, trace.MapReduce{})(func(_ trace.Job, err error) bool { return more(err) })
		}},
		"rumen": {"", `{"jobID": "j", "submitTime": 5, "mapTasks": [` + task + "]}\n", func(r io.Reader, more func(error) bool) {
			trace.Rumen("f", r)(func(_ trace.Job, err error) bool { return more(err) })
		}},
		"rumen nodes": {`{"children": [], "name": "root", "children": [`, `{"name": "n"},` + "\n", func(r io.Reader, more func(error) bool) {
			trace.RumenNodes("f", r, resources.Vector{1})(func(_ trace.Machine, err error) bool { return more(err) })
		}},
		"csv": {own, "a,1,1,1,1,,,,,,,\nb,1,1,1,1,,,,,,,\n", func(r io.Reader, more func(error) bool) {
			trace.CSV("f", r, trace.Space())(func(_ trace.Job, err error) bool { return more(err) })
		}},
		"csv nodes": {"name,cpu\n", "a,1\n", func(r io.Reader, more func(error) bool) {
			trace.CSVNodes("f", r, trace.Space())(func(_ trace.Machine, err error) bool { return more(err) })
		}},
		"sorted": {own, "a,1,1,1,1,,,,,,,\nb,1,1,1,1,,,,,,,\n", func(r io.Reader, more func(error) bool) {
			trace.Sorted("f", trace.CSV("f", r, trace.Space()), 10)(func(_ trace.Job, err error) bool { return more(err) })
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := &endless{rest: tt.head, text: tt.text}
			for _, some := range []int{1, 10_000} { // one after the other, on from where the first stopped
				n := 0
				r.rest, r.read = tt.head, 0
				tt.walk(r, func(err error) bool {
					require.NoError(t, err)
					n++
					return n < some
				})
				require.Equal(t, some, n)
				require.Less(t, r.read, some*len(tt.text)+2*(64<<10))
			}
		})
	}
}

// A line without end is refused before it takes all memory.
func TestReaders_RefuseALineWithoutEnd(t *testing.T) {
	r := &endless{text: strings.Repeat("a", 100)}
	require.ErrorIs(t, failure(t, trace.SWIM("f", r, trace.MapReduce{})), trace.ErrLong)
	require.Less(t, r.read, 2<<20)
}
