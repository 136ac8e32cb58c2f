package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// get returns the status and the body of a page.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(body)
}

func TestPage_ShowsTheLastState(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	page, err := start(ctx, "localhost:0", &out)
	require.NoError(t, err)
	url := strings.TrimSpace(out.String())
	status, _ := get(t, url)
	require.Equal(t, http.StatusNotFound, status, "nothing is shown yet")

	for machines := 1; machines <= 2; machines++ {
		var cfg omega.Config
		for i := range machines {
			cfg.Machines = append(cfg.Machines, omega.Machine{Name: string(rune('a' + i)), Capacity: resources.Vector{1}})
		}
		cell, err := omega.NewCell(cfg)
		require.NoError(t, err)
		page.Show("/cell/", view.Config{Cell: cell})
		page.Show("/cell/other/", view.Config{})
		status, body := get(t, url+"machines")
		require.Equal(t, http.StatusOK, status)
		var shown struct{ Machines []any }
		require.NoError(t, json.Unmarshal([]byte(body), &shown), body)
		require.Len(t, shown.Machines, machines)
		status, _ = get(t, url+"other/")
		require.Equal(t, http.StatusOK, status)
	}
	stop()
	page.Stay(ctx)
	_, err = http.Get(url) //nolint:noctx // no one listens any more
	require.Error(t, err)
}

func TestPage_NilShowsNothing(t *testing.T) {
	var page *Page
	page.Show("/cell/", view.Config{})
	page.Stay(t.Context()) // does not wait
}

func TestStart_RefusesABadAddress(t *testing.T) {
	_, err := start(t.Context(), "localhost:none", io.Discard)
	require.Error(t, err)
}

// Each example serves its page until it is interrupted, and then ends well.
func TestExamples_ServeUntilInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts")
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder,
		"./quickstart", "./etl", "./gpu", "./twolevel", "./flow", "./federation")
	build.Dir = filepath.Join("..", "..")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	examples := map[string][]string{ // with further arguments
		"etl": nil, "gpu": nil, "twolevel": nil, "flow": nil, "federation": nil,
		"quickstart": {"-dir", filepath.Join("..", "serve")},
	}
	for name, args := range examples {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), filepath.Join(folder, name), append(args, "-serve", "localhost:0")...)
			errs, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(errs)
			url, err := lines.ReadString('\n')
			require.NoError(t, err)
			over, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, over, "over")
			status, body := get(t, strings.TrimSpace(url)+"?format=json")
			require.Equal(t, http.StatusOK, status, body)
			require.True(t, json.Valid([]byte(body)), body)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.NoError(t, cmd.Wait())
		})
	}
}
