package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
)

// date is when tests run.
func date() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// tree returns all files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	}))
	return files
}

func TestCommand_ShowsEveryExperiment(t *testing.T) {
	if race.Detector {
		t.Skip("takes a minute: runs at a time are checked with fewer studies")
	}
	dir := t.TempDir()
	require.NoError(t, command(t.Context(), []string{"-quick", "-o", dir}, date(), io.Discard))
	files := tree(t, dir)
	text := files[textFile]
	require.Len(t, files, 1+13)
	for _, name := range []string{"fig5", "fig6", "fig7", "fig7-locked", "fig8", "fig9", "fig14", "fig15", "fig16", "rogue", "quincy-fairness", "quincy-time", "federation"} {
		path := figureDir + "/" + name + ".svg"
		require.Contains(t, text, "]("+path+")")
		wellFormed(t, files[path])
		within(t, files[path])
		require.Less(t, len(files[path]), 60_000, path)
	}
	require.Contains(t, text, "`go -C bench/plot run . -hours 0.02 -seeds 1`")
	require.Equal(t, len(studies()), strings.Count(text, "*Made on 2026-01-02 by `go -C bench/plot run . -hours 0.02 -seeds 1`; machine: "+machine()+".*"))
	require.Contains(t, text, "only show that the program works")
	require.Contains(t, files[figureDir+"/fig5.svg"], "sparrow")
	require.NotContains(t, files[figureDir+"/fig6.svg"], "sparrow", "it decides nothing")
	require.NotContains(t, files[figureDir+"/fig5.svg"], "two-level", "it is on another cell")
	require.Contains(t, text, "| two-level | 100 |")
	require.Contains(t, files[figureDir+"/fig7.svg"], "gang offer")
}

// wellFormed checks that it is XML, and a picture.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	in := xml.NewDecoder(strings.NewReader(svg))
	paths := 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "path" {
			paths++
		}
	}
	require.Greater(t, paths, 20)
	require.NotContains(t, svg, "NaN")
	require.NotContains(t, svg, "Inf")
}

func TestCommand_ShowsChosenFigures(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-quick", "-only", "elastic,modes", "-o", dir, "-parallel"}
	require.NoError(t, command(t.Context(), append(args, "1"), date(), io.Discard))
	files := tree(t, dir)
	require.Len(t, files, 4)
	require.Contains(t, files[textFile], "-only elastic,modes`")
	require.Less(t, strings.Index(files[textFile], "fig14.svg"), strings.Index(files[textFile], "fig15.svg"))
	require.NotContains(t, files[textFile], "fig5")

	// The same again, though runs end in another order, and over the files that are there.
	require.NoError(t, command(t.Context(), append(args, "3"), date(), io.Discard))
	require.Equal(t, files, tree(t, dir))
}

func TestCommand_LeavesNothingBehindIfItFails(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	dir := t.TempDir()
	// In the second study: the first one's figures are there by then.
	err := command(ctx, []string{"-quick", "-only", "modes,elastic", "-o", dir}, date(), writer(func(p []byte) {
		if bytes.Contains(p, []byte("elastic: 1 of")) {
			cancel(why)
		}
	}))
	require.ErrorIs(t, err, why)
	require.ErrorContains(t, err, "elastic: ")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestCommand_RejectsInvalidArguments(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"an unknown study":  {[]string{"-only", "modes,fig7"}, `study "fig7": want some of architectures,twolevel,load,schedulers,modes,elastic,rogue,quincy`},
		"no time":           {[]string{"-hours", "0"}, "hours 0, seeds 5"},
		"not a number":      {[]string{"-hours", "NaN"}, "want 0.02 to 720 hours"},
		"no seeds":          {[]string{"-seeds", "0"}, "seeds 0"},
		"nobody runs":       {[]string{"-parallel", "0"}, "parallel 0"},
		"not a flag":        {[]string{"modes"}, `argument "modes": want flags only`},
		"an unknown flag":   {[]string{"-figures"}, "flag provided but not defined"},
		"a folder not made": {[]string{"-hours", "720", "-o", filepath.Join(t.TempDir(), "none")}, "none"}, // before it runs
		"not a folder":      {[]string{"-hours", "720", "-o", "main.go"}, "main.go: is a file: want a folder"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, command(t.Context(), tt.args, date(), io.Discard), tt.want)
		})
	}
}

// The committed results are of runs of the command, all of them long enough.
func TestResults_ShowTheFiguresBesideThem(t *testing.T) {
	text, err := os.ReadFile("../" + textFile)
	require.NoError(t, err)
	parts, err := previous("..")
	require.NoError(t, err)
	require.Len(t, parts, len(studies()))
	shown := 0
	for _, st := range studies() {
		p, ok := parts[st.title]
		require.True(t, ok, st.title)
		require.Regexp(t, "^\\*Made on 20[0-9-]+ by `go -C bench/plot run \\. -hours ", p.text)
		require.NotEmpty(t, p.statements(), st.title)
		shown += len(p.figures)
	}
	require.NotContains(t, string(text), "only show that the program works")
	figures, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	require.Len(t, figures, shown)
	for _, f := range figures {
		require.Contains(t, string(text), "](plot/"+filepath.ToSlash(f)+")")
	}
}
