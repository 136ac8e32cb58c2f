package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A task listens on a socket while it runs. So a runner that did not start it can find it and
// wait for its end, and of two processes for one task only the first runs. It writes a file
// when it has ended.
func socket(folder, name string) string { return filepath.Join(folder, name+".sock") }
func result(folder, name string) string { return filepath.Join(folder, name+".done") }

// task is a task as a process.
func task(folder, name string) error {
	l, err := net.Listen("unix", socket(folder, name))
	if err != nil {
		if _, absent := os.Stat(socket(folder, name)); absent == nil {
			return nil // another process is this task, or was it
		}
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // no later process begins the task anew
	ran, err := os.OpenFile(filepath.Join(folder, "ran"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(ran, name); err == nil {
		<-time.After(length) // the work
		err = os.WriteFile(result(folder, name), nil, 0o600)
	}
	return errors.Join(err, ran.Close(), l.Close()) // which ends the connections of runners
}

func finished(folder, name string) bool {
	_, err := os.Stat(result(folder, name))
	return err == nil
}

// attach connects to a task, which it starts if it does not run and has not ended. It returns no
// connection for one that has ended. A task that has died with its socket left is an error.
func attach(ctx context.Context, folder, name string) (did string, conn net.Conn, err error) {
	did = "attached to"
	for patience := 5 * time.Second; patience > 0; patience -= 2 * time.Millisecond {
		if finished(folder, name) {
			return "found the end of", nil, nil
		}
		if conn, err = net.Dial("unix", socket(folder, name)); err == nil {
			return did, conn, nil
		}
		if _, absent := os.Stat(socket(folder, name)); absent != nil && did != "started" {
			did = "started"
			cmd, err := again(context.WithoutCancel(ctx), "DURABLE_FOLDER="+folder, "DURABLE_TASK="+name)
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				return "", nil, err
			}
			go func() { _ = cmd.Wait() }()
		}
		<-time.After(2 * time.Millisecond) // it may begin to listen
	}
	return "", nil, fmt.Errorf("task %s does not answer: %w", name, err)
}

// wait waits until a task has ended, or died: then the connection breaks.
func wait(conn net.Conn) {
	if conn != nil {
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
}
