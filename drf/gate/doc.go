// Package gate keeps dominant shares even among schedulers that take from one cell at the
// same time, with no central scheduler. It is an addition to package drf, whose heap
// orders the users of one scheduler.
package gate
