// Package observe has events about the decisions of a scheduler, in one type that any
// package can tell, and streams of them that never hold a scheduler up. Package
// omega/pool tells its decisions so.
//
//	a pool ───────┐            ┌──▶ Subscription ──▶ a log
//	              ├──▶ Stream ─┤
//	another pool ─┘            └──▶ Subscription ──▶ a test
//
// A [Stream] passes each event to its subscriptions. Each of them is bounded: an event
// that finds one full is dropped there and counted. Without subscriptions an event
// costs one load from memory and is not made.
package observe
