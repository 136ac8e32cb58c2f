package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublish_ReplacesAllThatWasThere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, publish(dir, []byte("one"), []file{{"a.svg", []byte("a")}, {"b.svg", []byte("b")}}))
	require.NoError(t, publish(dir, []byte("two"), []file{{"b.svg", []byte("c")}}))
	require.Equal(t, map[string]string{textFile: "two", figureDir + "/b.svg": "c"}, tree(t, dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "and nothing beside it")
}

// Killed between two renames, a run leaves the old figures with its staged files.
func TestPublish_GoesOnAfterOneThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".results-1", "old")
	require.NoError(t, os.MkdirAll(left, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "plot"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(left, "a.svg"), []byte("old"), 0o644))
	require.NoError(t, publish(dir, []byte("new"), []file{{"a.svg", []byte("new")}}))
	require.Equal(t, map[string]string{
		textFile: "new", figureDir + "/a.svg": "new", ".results-1/old/a.svg": "old",
	}, tree(t, dir))
}

func TestPublish_RestoresFilesOnFailure(t *testing.T) {
	tests := map[string]struct {
		before map[string]string
		next   []file
		want   string
	}{
		"the text has no place, figures had one": {
			before: map[string]string{textFile + "/x": "", figureDir + "/a.svg": "old"},
			next:   []file{{"a.svg", []byte("new")}}, want: textFile,
		},
		"the text has no place, figures had none": {
			before: map[string]string{textFile + "/x": ""},
			next:   []file{{"a.svg", []byte("new")}}, want: textFile,
		},
		"the folder of figures is a file": {
			before: map[string]string{textFile: "old", figureDir: "a file"},
			next:   []file{{"a.svg", []byte("new")}}, want: "figures",
		},
		"its parent is a file": {
			before: map[string]string{textFile: "old", filepath.Dir(figureDir): "a file"},
			next:   []file{{"a.svg", []byte("new")}}, want: "plot",
		},
		"somebody else's file among the figures": {
			before: map[string]string{textFile: "old", figureDir + "/a.svg": "old", figureDir + "/notes.txt": "mine"},
			next:   []file{{"a.svg", []byte("new")}}, want: "notes.txt: is replaced as a whole: want nothing but .svg files there",
		},
		"a figure cannot be written": {
			before: map[string]string{textFile: "old", figureDir + "/a.svg": "old"},
			next:   []file{{"a.svg", []byte("new")}, {"none/b.svg", nil}}, want: "b.svg",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range tt.before {
				path := filepath.Join(dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)

			require.ErrorContains(t, publish(dir, []byte("new"), tt.next), tt.want)
			require.Equal(t, tt.before, tree(t, dir))
			after, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, after, len(entries))
		})
	}
}
