// Package live runs a master of offers and its frameworks on goroutines: one for
// each framework, which is called with its news, and the caller's, which tells the
// master the time.
//
//	          ┌─► goroutine ── Handle(ctx, framework, news) ─┐ Accept,
//	Run ──────┼─► goroutine ── Handle(ctx, framework, news) ─┤ Decline,
//	 │        └─► goroutine ── Handle(ctx, framework, news) ─┤ Release
//	 └─ Step, when something is due ──► offers.Master ◄──────┘
//
// A framework that is slow delays nobody: offers that it does not answer in time
// go to others. One that panics has its offers declined, and is called again with
// what comes next. One that somebody else takes over ends, the others go on.
package live
