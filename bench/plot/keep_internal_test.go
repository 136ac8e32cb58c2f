package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// results writes a text with a section of an earlier run for some studies, each with
// a figure and a claim.
func results(t *testing.T, dir string, names ...string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("# Results\n\nof an earlier run.\n\n")
	for _, st := range studies() {
		for _, name := range names {
			if st.name == name {
				text.WriteString("## " + st.title + "\n\n*Made on 2025-12-31 by `" + name + "`; machine: m.*\n\nOld " + name + ".\n\n" +
					"![alt](" + figureDir + "/old-" + name + ".svg)\n\n" + statements + "| It is old. | It was. | **differs**: of " + name + " |\n\n")
			}
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, figureDir), 0o755))
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, figureDir, "old-"+name+".svg"), []byte("<svg>"+name), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, textFile), []byte(text.String()), 0o600))
}

// Without recordings the section was made anew, and said that loads were not run.
func TestCommand_KeepsFiguresWithoutRecordings(t *testing.T) {
	t.Setenv("CELLSCHED_DATA", t.TempDir())
	dir := t.TempDir()
	results(t, dir, "modes", "quincy")
	var progress strings.Builder
	require.NoError(t, command(t.Context(), []string{"-quick", "-only", "modes,quincy", "-o", dir, "-parallel", "2"}, date(), &progress))
	files := tree(t, dir)
	text := files[textFile]
	require.Contains(t, text, "*Made on 2025-12-31 by `quincy`; machine: m.*\n\n"+
		"*Kept on 2026-01-02: there was no recording of facebook, hadoop.*\n\nOld quincy.\n\n![alt]("+figureDir+"/old-quincy.svg)\n")
	require.Equal(t, "<svg>quincy", files[figureDir+"/old-quincy.svg"])
	require.Contains(t, progress.String(), "quincy: kept: there was no recording of facebook, hadoop\n")
	require.NotContains(t, text, "Not run")

	require.NotContains(t, text, "Old modes")
	require.NotContains(t, files, figureDir+"/old-modes.svg")
	require.Contains(t, text, "- It is old. Here: It was. Why: of quincy.\n", "what is kept is in the list")
	require.Less(t, strings.Index(text, "fig14.svg"), strings.Index(text, "old-quincy.svg"))
}

func TestCommand_KeepsUnchosenFigures(t *testing.T) {
	dir := t.TempDir()
	results(t, dir, "load", "modes", "rogue")
	args := []string{"-quick", "-only", "modes", "-o", dir}
	require.NoError(t, command(t.Context(), args, date(), io.Discard))
	files := tree(t, dir)
	for _, name := range []string{"load", "rogue"} {
		require.Contains(t, files[textFile], "*Made on 2025-12-31 by `"+name+"`; machine: m.*\n\n*Kept on 2026-01-02: the run was of other studies.*\n\nOld "+name+".\n")
		require.Equal(t, "<svg>"+name, files[figureDir+"/old-"+name+".svg"])
	}
	require.Contains(t, files, figureDir+"/fig14.svg")
	require.NotContains(t, files, figureDir+"/old-modes.svg")
	require.NotContains(t, files, figureDir+"/fig8.svg", "a study that was never run has no section")

	// Kept again, it says so once, and the sections made are kept in turn.
	later := date().AddDate(0, 0, 1)
	require.NoError(t, command(t.Context(), []string{"-quick", "-only", "modes", "-o", dir}, later, io.Discard))
	text := tree(t, dir)[textFile]
	require.Equal(t, 2, strings.Count(text, "*Kept on "))
	require.Equal(t, 2, strings.Count(text, "*Kept on 2026-01-03: "))
	require.Contains(t, text, "*Made on 2026-01-03 by `go -C bench/plot run . -hours 0.02 -seeds 1 -only modes`")
}

func TestCommand_RefusesToKeepAFigureThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	results(t, dir, "load", "modes")
	require.NoError(t, os.Remove(filepath.Join(dir, figureDir, "old-load.svg")))
	before := tree(t, dir)
	err := command(t.Context(), []string{"-hours", "720", "-only", "modes", "-o", dir}, date(), io.Discard) // before it runs
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, `section "Figure 8: one batch scheduler, and more batch jobs" of RESULTS.md`)
	require.Equal(t, before, tree(t, dir))
}

func TestKept_SaysSoWhereTheDayIsNotKnown(t *testing.T) {
	p := part{title: "A", text: "Text.\n\nMore."}.kept(date(), "why")
	require.Equal(t, "*Made on an unknown day.*\n\n*Kept on 2026-01-02: why.*\n\nText.\n\nMore.", p.text)
	require.Equal(t, p, p.kept(date(), "why"))
}
