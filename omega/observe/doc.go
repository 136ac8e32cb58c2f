// Package observe has events about the decisions of a scheduler and the numbers that it
// counts, in two types that all packages share. Streams of events never hold a scheduler up.
//
//	a pool ──────────┐            ┌──▶ Subscription ──▶ Log ──▶ slog
//	a loop ──────────┼──▶ Stream ─┤
//	a flow or master ┘            └──▶ Subscription ──▶ a test
//
// A [Stream] passes each event to its subscriptions. Each of them is bounded: an event
// that finds one full is dropped there and counted. Without subscriptions an event
// costs one load from memory and is not made.
//
// # Statistics
//
// [Counts] are asked for, and cost nothing until then:
//
//	omega.Scheduler.Stats, omega.Cell.Stats   transactions and claims, refused by reason
//	offers.Master.Stats, flow.Scheduler.Stats rounds, offers, tasks
//	loop.Stats.Counts, pool.TenantStats.Counts
//
// Five questions, and where the answers are:
//
//	which requests wait?   Counts.Waiting, pool.Pool.Waiters
//	why?                   Counts.Refused; the Err of events; omega/view
//	how long?              Counts.Waited
//	which tenants hold it? pool.Pool.Stats, omega.Cell.Usage
//	is it fair?            the shares of pool.Pool.Stats: tenants that wait have equal ones
//
// The nested modules observe/prometheus and observe/otel export all of that.
package observe
