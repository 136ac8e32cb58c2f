//go:build !unix

package main

import "os"

// onStatus does nothing: the system has no signal to spare.
func onStatus(chan<- os.Signal) {}
