package offers

// A master that was replaced may not have noticed, or be in the middle of a call,
// and goes on. What it then does to the cell is either refused there, in the same
// step in which it would happen, or does no harm:
//
//	it                                      after a successor has taken over
//	claims room for offers (claim, grant),  is refused: a commit of its own scheduler
//	  and preempts for a guarantee
//	turns offers into tasks (Accept),       is refused: a commit of a deputy of its own, also
//	  kept or optimistic                    for offers without a claim that could be gone
//	takes or makes the scheduler of a       is refused: see omega.Scheduler.Deputy
//	  framework (Register, leave)
//	ends tasks of a framework that has      is refused: a commit of a deputy takes from them
//	  ended or not come back (leave)        all that they have; what is left is of nothing
//	has a framework's scheduler leave       is refused: see omega.Scheduler.Leave
//	releases claims of offers (rescind,     may take effect late: its successor releases them,
//	  pick), acknowledges their loss        too, whoever is first
//	releases tasks, or acknowledges their   may take effect late, if it had begun: they have
//	  loss, for who runs them (Release)     stopped, whoever the master is
//	acknowledges the loss of tasks of a     may take effect late, if it had begun: they have
//	  framework that has ended (leave)      lost their room already
//	names an account (Register)             does what anybody may do at any time
//
// Nothing else that it does, on time or asked to, reaches the cell: filters, terms,
// notices of revocation, inverse offers and requests are in its own memory, or in
// the news of frameworks that are with it.
