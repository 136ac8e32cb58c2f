package file_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

// TestMain is a process to kill where the test starts one.
func TestMain(m *testing.M) {
	if folder := os.Getenv("JOURNAL_VICTIM"); folder != "" {
		if err := victim(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const victims = 4 // schedulers of a process to kill

func killedConfig() journal.Config {
	cfg := journal.Config{Checkpoint: 3000}
	for i := range 4 {
		cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{1000}})
	}
	return cfg
}

// victim commits until it is killed. It prints each allocation that was granted or released
// once it was told so.
func victim(folder string) error {
	store, err := file.Open(folder)
	if err != nil {
		return err
	}
	cell, err := journal.Open(context.Background(), store, killedConfig())
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var mu sync.Mutex
	var running sync.WaitGroup
	for n := range victims {
		s, err := cell.Take(context.Background(), fmt.Sprint("s", n), omega.Limits{})
		if err != nil {
			return err
		}
		running.Go(func() { work(s, &mu) })
	}
	running.Wait()
	return nil
}

func work(s *omega.Scheduler, mu *sync.Mutex) {
	var held []omega.AllocationID
	for a := range s.Allocations() {
		held = append(held, a.ID)
	}
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for {
		var tx omega.Txn
		var gone string
		if len(held) > 20 {
			gone = fmt.Sprintln("-", held[0])
			mu.Lock()
			fmt.Println("?", held[0]) // it is about to be released: it may be there or not
			mu.Unlock()
			tx.Release(held[0])
			held = held[1:]
		}
		m, _ := s.Cell().Machine(fmt.Sprint("m", rng.IntN(4)))
		claim := tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		if _, err := s.CommitContext(context.Background(), &tx); err != nil {
			return
		}
		mu.Lock()
		fmt.Print(gone)
		if id, ok := tx.Allocation(claim); ok {
			held = append(held, id)
			fmt.Println("+", id)
		}
		mu.Unlock()
	}
}

// A process is killed (kill -9) again and again, in the middle of commits and of checkpoints. The
// next one finds all that was acknowledged. JOURNAL_KILLS sets how often.
func TestStore_KeepsWhatAKilledProcessWasTold(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("JOURNAL_KILLS")); err == nil {
		kills = n
	}
	folder := t.TempDir()
	program, err := os.Executable()
	require.NoError(t, err)
	held, doubt := map[string]bool{}, map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	total := 0
	for round := range kills {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), "JOURNAL_VICTIM="+folder)
		cmd.Stderr = os.Stderr
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewReader(pipe)
		for left := 20 + rng.IntN(400); ; left-- {
			if left == 0 {
				require.NoError(t, cmd.Process.Kill()) // what it has printed is read to the end
			}
			line, err := lines.ReadString('\n')
			if err == io.EOF || err == nil && !strings.HasSuffix(line, "\n") {
				break
			}
			require.NoError(t, err)
			switch kind, id, _ := strings.Cut(strings.TrimSpace(line), " "); kind {
			case "+":
				held[id] = true
				total++
			case "-":
				require.True(t, held[id], "%s was released twice", id)
				delete(held, id)
				delete(doubt, id)
			case "?":
				doubt[id] = true
			default:
				require.Equal(t, "ready", kind)
			}
		}
		_ = cmd.Wait()
		found := after(t, folder)
		for id := range held {
			require.True(t, found[id] || doubt[id], "round %d: allocation %s is lost", round, id)
			if !found[id] {
				delete(held, id)
			}
		}
		extra := 0
		for id := range found {
			if !held[id] {
				extra++
				held[id] = true
			}
		}
		require.LessOrEqual(t, extra, victims, "round %d: allocations of commits that had no outcome", round)
		clear(doubt)
	}
	t.Logf("%d kills, %d grants", kills, total)
}

// after returns the allocations that a killed process has left.
func after(t *testing.T, folder string) map[string]bool {
	t.Helper()
	store, err := file.Open(folder)
	require.NoError(t, err)
	cell, err := journal.Open(t.Context(), store, killedConfig())
	require.NoError(t, err)
	found := map[string]bool{}
	for a := range cell.Allocations() {
		found[a.ID.String()] = true
	}
	require.NoError(t, cell.Check())
	require.NoError(t, cell.Close(t.Context()))
	require.NoError(t, store.Close())
	return found
}
