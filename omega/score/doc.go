// Package score has the published ways to say how good a machine is for a
// task, as values to hand to a search.
//
//	need ─────┐
//	free ─────┤  Func   ┌─────────────────────┐
//	          ├────────▶│ float64: the higher │  the search places on
//	capacity ─┘         │ the better          │  the machine that scores best
//	                    └─────────────────────┘
//
// In the table, left is the share of a machine's capacity that stays free once
// the task is placed, used is 1 - left, and rest is free - need. A mean is over
// the kinds of resource that the machine has (that size has, for the two that
// take one), by [Weights] where the score takes some.
//
//	score                formula                                    use it to
//	Tetris               Σ need/capacity · free/capacity            match the task's shape to the room's
//	DotProduct           1 - mean(need/capacity · free/capacity)    keep large room for large tasks
//	LeastAllocated       100 · mean(left)                           even the load out
//	MostAllocated        100 · mean(used)                           empty machines, to give them back
//	RequestedToCapacity  10 · mean(shape(used))                     fill to a chosen level
//	Balanced             100 · (1 - deviation(used))                leave no kind stranded by another
//	Binpack              (10 - mean(10^left)) / 9                   pack, and fill the kinds evenly
//	Spread               (mean(10^left) - 1) / 9                    spread as Nomad does
//	LeastLeft            1 - mean(rest/size)                        pack machines of unequal sizes
//	MostLeft             mean(rest/size)                            spread over machines of unequal sizes
//	Fragmentation.FGD    fragmentation before - after               pack devices that tasks share
//
// Sources: Tetris is R. Grandl et al., "Multi-resource packing for cluster
// schedulers", SIGCOMM 2014. LeastAllocated, MostAllocated,
// RequestedToCapacity and Balanced are the node resource plug-ins of
// Kubernetes 1.34. Binpack and Spread are Nomad's (nomad/structs/funcs.go).
// FGD, and LeastLeft and DotProduct in the form that they have here, are Q. Weng
// et al., "Beware of fragmentation: scheduling GPU-sharing workloads with
// fragmentation gradient descent", USENIX ATC 2023, and its simulator.
//
// Searches by omega.ByFalling and omega.ByRising look at few machines. MostAllocated,
// LeastLeft and DotProduct are never higher where more is free, and so suit ByFalling.
// LeastAllocated, MostLeft and Tetris are never lower, and so suit ByRising. Binpack suits
// ByFalling and Spread suits ByRising but for rounding: of two machines with equal scores in
// exact arithmetic, either may be picked.
//
// Unlike in those schedulers, a score takes in all kinds and not only CPU and
// memory (or CPU and GPU), and is not rounded to an integer.
package score
