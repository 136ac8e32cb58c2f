//go:build race

package main

// race says that every access is watched, which makes a run some twenty times as
// slow.
const race = true
