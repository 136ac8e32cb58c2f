//go:build unix

package servertest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"
)

// Child is another process that runs one test of this test's binary.
type Child struct {
	tb    testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// NewChild starts a process that runs the test of a name, with variables of the form
// "NAME=value" in its environment beside those of this process. It is killed when tb
// ends.
func NewChild(tb testing.TB, name string, variables ...string) *Child {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	c := exec.CommandContext(context.Background(), self, "-test.run=^"+name+"$", "-test.v")
	c.Env, c.Stderr = append(os.Environ(), variables...), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	child := &Child{tb, c, bufio.NewScanner(out)}
	tb.Cleanup(child.Kill)
	return child
}

// Await waits until the process prints a line. The test fails if it ends without.
func (c *Child) Await(line string) {
	c.tb.Helper()
	for c.lines.Scan() {
		if c.lines.Text() == line {
			return
		}
	}
	c.tb.Fatalf("servertest: the process has ended without %q: %v", line, c.lines.Err())
}

// Kill ends the process by SIGKILL, if it has not ended yet, and waits for its end.
func (c *Child) Kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}
