package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/program/programtest"
	"github.com/cellsched/cellsched/bench/internal/recordings"
)

func TestCommand_PrintsATable(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-experiment", "popular")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Contains(t, lines[0], "popular: SPARK-18886")
	require.Equal(t, []string{"local", "makespan"}, strings.Fields(lines[2]), "no columns that nothing is in")
	require.Len(t, lines, 3+2*5)
	require.Regexp(t, `^ *tasks of 5s +paper's rule +100.0 % +2999.0 s$`, lines[5])
}

func TestCommand_PrintsJSON(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-experiment", "popular", "-json")
	var got struct {
		Experiment string
		Rows       []row
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&got))
	require.Equal(t, "popular", got.Experiment)
	rows, err := popular(t.Context(), options{})
	require.NoError(t, err)
	require.Equal(t, rows, got.Rows)
}

func TestSticky_IsTheSameForTheSameSeed(t *testing.T) {
	var rows [3][]row
	for i, seed := range []uint64{7, 7, 8} {
		var err error
		rows[i], err = sticky(t.Context(), options{seed: seed, part: 20})
		require.NoError(t, err)
	}
	require.Equal(t, rows[0], rows[1])
	require.NotEqual(t, rows[0], rows[2])
}

func TestCommand_SkipsExperimentsWithoutData(t *testing.T) {
	for _, name := range []string{"hadoop", "facebook"} {
		out, remarks := programtest.Printed(t, command, "-experiment", name, "-data", t.TempDir())
		require.Empty(t, out)
		require.Contains(t, remarks, name+": skipped, no data: stat ")
		require.Equal(t, 1, strings.Count(remarks, "\n"))
	}
}

func TestCommand_SaysWhichFileIsBad(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "swim-facebook"), 0o700))
	file := filepath.Join(root, "swim-facebook", "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv")
	require.NoError(t, os.WriteFile(file, []byte("job\t1\t2\tx\t0\t0\tinput\n"), 0o600))
	var out strings.Builder
	err := command(t.Context(), []string{"-experiment", "facebook", "-data", root}, &out, &out)
	require.ErrorContains(t, err, "facebook: ")
	require.ErrorContains(t, err, file+":1:")
	require.Empty(t, out.String())

	require.NoError(t, os.Remove(file))
	err = command(t.Context(), []string{"-experiment", "facebook", "-data", root}, &out, &out)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCommand_RefusesBadInput(t *testing.T) {
	for text, args := range map[string][]string{
		`experiment "fast": want one of share, sticky, popular, learned, unseen, hadoop, facebook`: {"-experiment", "fast"},
		`argument "share": want flags only`: {"share"},
		`invalid value "-1" for flag -seed`: {"-seed", "-1"},
	} {
		programtest.Refuses(t, command, text, args...)
	}
}

func TestCommand_EndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, e := range all() {
		args := []string{"-experiment", e.name}
		if e.data != "" {
			args = append(args, "-data", filepath.Dir(recordings.Find(t, e.data)))
		}
		var out strings.Builder
		require.ErrorIs(t, command(ctx, args, &out, &out), cause, e.name)
		require.Empty(t, out.String())
	}
}
