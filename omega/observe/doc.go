// Package observe has what the packages of cellsched tell about their decisions: one
// type of event, and streams of events that never hold a scheduler up.
//
//	pool ──┐            ┌──▶ Subscription ──▶ a log
//	       ├──▶ Stream ─┤
//	loop ──┘            └──▶ Subscription ──▶ a test, a view
//
// A [Stream] passes each event to its subscriptions. Each of them is bounded: an event
// that finds one full is dropped there and counted. Without subscriptions an event
// costs one load from memory and is not made.
package observe
