// Package trial tries policies of delay/late in virtual time.
//
// A [Setup] is a cell and its jobs, and runs any policy. [Tune] tries a grid of policies on
// the history of the caller's own jobs.
package trial
