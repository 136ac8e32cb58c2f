// Package live runs a master of offers and its frameworks on goroutines. Each framework
// has a goroutine, which calls it with its news. The caller's goroutine tells the master
// the time.
//
//	          ┌─► goroutine ── Handle(ctx, framework, news) ─┐ Accept,
//	Run ──────┼─► goroutine ── Handle(ctx, framework, news) ─┤ Decline,
//	 │        └─► goroutine ── Handle(ctx, framework, news) ─┤ Release
//	 └─ Step, when something is due ──► offers.Master ◄──────┘
//
// A slow framework delays no other one: offers that it does not answer in time go to
// others. A framework that panics has its offers declined, and is called again with the
// next news. A framework that is taken over by another caller ends, and the others go on.
package live
