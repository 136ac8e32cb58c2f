//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// onStatus sends to status when the process is asked for its state.
func onStatus(status chan<- os.Signal) { signal.Notify(status, syscall.SIGUSR1) }
