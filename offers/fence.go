package offers

// After a takeover the old master may not have noticed, or may be in the middle of a
// call, and go on. The table lists all that it then does to the cell, by file and
// function. The cell refuses an action in the same step in which it would happen, or the
// action does no harm.
//
//	action                                  after a successor has taken over
//
//	rounds.sendPicks, gangs.grant:          refused: a commit of its own scheduler
//	  claim room for offers, preempt
//	  for a guarantee
//	accepts.sendAccept: turn offers into    refused: a commit of a deputy of its own, also
//	  tasks, kept or optimistic             for offers without a claim that could be gone
//	client.deputy (register, departure):    refused: see omega.Scheduler.Deputy
//	  take or make the scheduler of a
//	  framework
//	departure, sessions.release: end        refused: a commit of a deputy takes from the tasks
//	  tasks of a framework that has ended   all that they have but one unit; the release after
//	  or not come back                      it may take effect late, for that unit
//	departure, sessions.depart: have the    refused: see omega.Scheduler.Leave
//	  scheduler of a framework leave
//	ledger.rescind, rounds.pick:            may take effect late: the successor releases the
//	  release claims of offers,             claims, too, whichever master is first
//	  acknowledge their loss
//	framework, Release: release tasks,      may take effect late, if it had begun: the tasks
//	  acknowledge their loss                have stopped, whichever master is in charge
//	departure, sessions.depart:             may take effect late, if it had begun: the tasks
//	  acknowledge the loss of tasks of a    have lost their room already
//	  framework that has ended
//	register, Register: name an account     harmless: any scheduler may do so at any time
//
// Nothing else that it does, on time or on request, reaches the cell. Filters, terms,
// notices of revocation, inverse offers and requests are in its own memory, or in the
// news of frameworks that are with it.
