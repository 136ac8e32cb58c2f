package program_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/program"
)

// sampling is set where this program is not the test but the sample.
const sampling = "CELLSCHED_SAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(sampling) != "" {
		program.Main("sample", sample)
		return
	}
	os.Exit(m.Run())
}

func sample(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("sample", flag.ContinueOnError)
	flags.SetOutput(progress)
	wait := flags.Bool("wait", false, "until it is interrupted")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	fmt.Fprintln(out, "began")
	if *wait {
		<-ctx.Done()
	}
	return ctx.Err()
}

func TestMain_EndsTheProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for arg, want := range map[string]struct {
		status        int
		out, progress string
	}{
		"-wait=false": {0, "began\n", ""},
		"-wait":       {1, "began\n", "sample: context canceled\n"}, // by itself, not by the signal
		"wait":        {1, "", "sample: argument \"wait\": want flags only\n"},
		"-h":          {0, "", "Usage of sample:\n  -wait\n    \tuntil it is interrupted\n"},
	} {
		cmd := exec.CommandContext(t.Context(), self, arg)
		cmd.Env = append(os.Environ(), sampling+"=1")
		var progress strings.Builder
		cmd.Stderr = &progress
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		out, _ := bufio.NewReader(pipe).ReadString('\n')
		if arg == "-wait" {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
		_ = cmd.Wait() // the status says it
		require.Equal(t, want.status, cmd.ProcessState.ExitCode(), arg)
		require.Equal(t, want.out, out, arg)
		require.Equal(t, want.progress, progress.String(), arg)
	}
}

func TestPrint_IsForPeopleAndMachines(t *testing.T) {
	var out strings.Builder
	require.NoError(t, program.PrintJSON(&out, []int{1}))
	told := program.Progress(&out)
	told(1, 2)
	told(2, 2)
	require.Equal(t, "[\n  1\n]\n\r1 of 2 runs\r2 of 2 runs", out.String())
}
