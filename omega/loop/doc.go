// Package loop is the scheduler loop. It takes jobs in the caller's order and places them
// on a cell that others schedule on too, until each is placed, given up, or withdrawn.
//
//	Submit ──▶┌───────┐ Next  ┌─────────┐ think  ┌────────┐ all placed
//	          │ Order ├──────▶│ refresh ├───────▶│ commit ├────────────▶ Event
//	          └───▲───┘       │ place   │        └───┬────┘
//	              │           └─────────┘            │ conflict, no room, passed up
//	              ├──────────── back-off ◀───────────┤
//	              └── parked until machines change ◀─┘ can never fit
//
// [Loop.Step] holds all logic and is told the time. So a simulator drives in virtual time
// the same code that [Loop.Run] drives live. One attempt may be split: it is placed at
// one time and committed after the think time, the time of a scheduler's decision in the
// Omega paper (M. Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, EuroSys 2013,
// sections 3.4 and 4). Room that other schedulers took meanwhile is a conflict. Two rules
// differ from the paper. A retry waits for a back-off with jitter, and a job too large
// for every machine does not use up its attempts.
//
// Orders that are ready to use, one line each in [Config.Order]:
//
//	by arrival                 loop.FIFO[K]()
//	by precedence              loop.ByPrecedence[K]()
//	by deadline                loop.ByDeadline[K]()
//	by dominant share          loop.NewByShare[K](total, cell.Usage)
//	by service over time       loop.NewByService[K](total, cell.Usage)
//	by a tree of pools         loop.NewByPools[K](tree, cell.Usage)
//	in turns with other loops  loop.NewByTurn(gate, 1, scheduler.Usage, order)
//
// An order of the caller's own has two methods, and a third where it holds jobs back: see
// [Order]. Places that are ready to use:
//
//	by a policy of omega       Config.Policy: omega.BestOf(2, nil, rand)
//	by a score                 Config.Policy: omega.ByScore(score), omega.ByFalling(score)
//	by delay scheduling        Config.Place:  near.Place, of loop.NewNear
//	by constraints             Config.Place:  loop.PlaceAmong(policy, walk)
//	                           or Job.Allow:  constraints.Has
//
// A [Place] of the caller's own is a function.
//
// Every allocation that the loop was granted is in exactly one [Placed] event, also if
// calls around it are cancelled, time out or panic. An allocation that is preempted by
// another scheduler, or lost with its machine, is also in one [Preempted] event.
package loop
