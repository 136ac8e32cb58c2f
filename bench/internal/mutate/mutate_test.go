package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/program/programtest"
)

const tiny = `package tiny

import "sync"

type Box struct {
	mu sync.Mutex
	n  int
}

func (b *Box) Add(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < 0 {
		return b.n
	}
	b.n += n
	return b.n
}

func (b *Box) String() string { return "box" + string(rune('0'+b.n)) }
`

const tinyTest = `package tiny

import "testing"

func TestAdd(t *testing.T) {
	var b Box
	if b.Add(2) != 2 || b.Add(-1) != 2 {
		t.Fatal("wrong sum")
	}
}
`

func TestFind_ChangesOneThingAtATime(t *testing.T) {
	found, err := find("tiny/tiny.go", []byte(tiny))
	require.NoError(t, err)
	keys := make([]string, 0, len(found))
	for _, m := range found {
		require.Equal(t, "./tiny", m.test[len(m.test)-1])
		require.Equal(t, m.name == lockDropped, m.test[0] == "-race", m.name)
		keys = append(keys, fmt.Sprintf("%d %s", m.line, strings.TrimPrefix(m.key([]byte(tiny)), "tiny/tiny.go: ")))
	}
	require.Equal(t, []string{
		"11 Add: lock dropped: b.mu.Lock() defer b.mu.Unlock() → nothing",
		"13 Add: condition: if n < 0 { → if !(n < 0) {",
		"13 Add: early exit dropped: if n < 0 { → if false && (n < 0) {",
		"13 Add: operator: if n < 0 { → if n <= 0 {",
		"13 Add: constant: if n < 0 { → if n < (0 + 1) {",
		"16 Add: operator: b.n += n → b.n -= n",
		"16 Add: statement dropped: b.n += n → nothing",
	}, keys)
}

func TestShuffle_KindsTakeTurnsAndTheSeedDecides(t *testing.T) {
	all, err := find("tiny/tiny.go", []byte(tiny))
	require.NoError(t, err)
	order := func(seed uint64) (kinds []string) {
		for _, m := range shuffle(all, "tiny", seed) {
			kinds = append(kinds, m.name)
		}
		return kinds
	}
	first := order(1)
	require.Len(t, first, len(all))
	require.Equal(t, first, order(1))
	seen := map[string]bool{}
	for _, kind := range first[:6] { // as many kinds as there are
		require.False(t, seen[kind], "%s twice in %v", kind, first)
		seen[kind] = true
	}
}

// module writes a module with one package and its test, and returns its root.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "tiny"), 0o755))
	for name, text := range map[string]string{
		"go.mod": "module example.com/tiny\n\ngo 1.26.0\n", "tiny/tiny.go": tiny, "tiny/tiny_test.go": tinyTest,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	return root
}

// replacing returns the mutant of tiny.go that has now in place of was.
func replacing(t *testing.T, was, now string) *mutant {
	t.Helper()
	at := strings.Index(tiny, was)
	require.GreaterOrEqual(t, at, 0)
	return &mutant{file: "tiny/tiny.go", edits: []edit{{at, at + len(was), now}}, test: []string{"./tiny"}}
}

func TestJudge_TellsTheVerdictsApart(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	b := &bench{root: module(t), scratch: t.TempDir(), limit: time.Minute}
	for now, want := range map[string]outcome{
		"b.n -= n":          caught,
		"b.n += n + 0":      survived,
		"b.n += undefined":  unbuildable,
		"for { b.n += 0 }":  caught, // does not end: below, with a short limit
		"b.n = n; b.n += 0": survived,
	} {
		if strings.HasPrefix(now, "for") {
			b.limit = 2 * time.Second
		} else {
			b.limit = time.Minute
		}
		verdict, err := b.judge(t.Context(), replacing(t, "b.n += n", now))
		require.NoError(t, err)
		require.Equal(t, want, verdict, now)
	}
	source, err := os.ReadFile(filepath.Join(b.root, "tiny", "tiny.go"))
	require.NoError(t, err)
	require.Equal(t, tiny, string(source), "the source is left alone")
}

func TestJudge_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	b := &bench{root: module(t), scratch: t.TempDir(), limit: time.Minute}
	_, err := b.judge(ctx, replacing(t, "b.n += n", "b.n -= n"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestPlanted_FindsTheOldTextOnceOrSaysStale(t *testing.T) {
	root, dir := module(t), t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "one.txt"), []byte(text), 0o600))
	}
	write("breaks: sums\nfile: tiny/tiny.go\n<<<<\n\tb.n += n\n====\n\tb.n -= n\n>>>>\n")
	all, err := planted(root, dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 16, all[0].line)
	require.Equal(t, strings.Replace(tiny, "b.n += n", "b.n -= n", 1), string(all[0].source([]byte(tiny))))
	require.Equal(t, []string{"./tiny"}, all[0].test)

	write("breaks: sums\nfile: tiny/tiny.go\n<<<<\nb.n\n====\nb.m\n>>>>\n")
	_, err = planted(root, dir)
	require.ErrorIs(t, err, errStale)
	write("breaks: sums\n<<<<\nb.n\n====\nb.m\n>>>>\n")
	_, err = planted(root, dir)
	require.ErrorContains(t, err, "want breaks and file")
}

func TestEquivalents_NeedAReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "equivalent.txt")
	require.NoError(t, os.WriteFile(file, []byte("# list\na.go: constant: 1 → (1 + 1) # a hint of capacity\n"), 0o600))
	known, err := equivalents(file)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.go: constant: 1 → (1 + 1)": "a hint of capacity"}, known)
	require.NoError(t, os.WriteFile(file, []byte("a.go: constant: 1 → (1 + 1)\n"), 0o600))
	_, err = equivalents(file)
	require.ErrorContains(t, err, "equivalent.txt:1")
}

// The mutants that the repository keeps match its source, the equivalent ones too: a
// change of the code around one carries the mutant along.
func TestPlanted_TheRepositorysMatchItsSource(t *testing.T) {
	root, err := moduleRoot(t.Context())
	require.NoError(t, err)
	all, err := planted(root, "planted")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	known, err := equivalents("equivalent.txt")
	require.NoError(t, err)
	for key := range known {
		file, _, _ := strings.Cut(key, ":")
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		require.NoError(t, err, key)
		found, err := find(file, source)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(found, func(m mutant) bool { return m.key(source) == key }), "stale: %s", key)
	}
}

func TestCommand_ListsWithoutRunning(t *testing.T) {
	out, _ := programtest.Printed(t, command, "-list", "-n", "3", "./resources")
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 3)
	require.Contains(t, out, "resources/")
	programtest.Refuses(t, command, "packages", "-n", "3")
	programtest.Refuses(t, command, "packages", "-planted", "./resources")
	programtest.Refuses(t, command, "n 0", "-n", "0", "./resources")
	programtest.Refuses(t, command, "no such file", "./nothere")
}
