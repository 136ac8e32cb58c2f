// Fairness prints what the two policies that the DRF paper compares itself with
// make of the paper's examples, and which property each loses by which numbers.
//
//	go -C bench run ./fairness
//
// Asset Fairness equalises what users hold in all: the sum of their fractions of
// each kind. Competitive equilibrium from equal incomes (CEEI) lets users trade
// equal parts of everything in a perfect market, which is the same as making the
// product of their tasks as large as it can be. Both are for tasks that can be
// divided, as [allot.Divide] is. CEEI is for two users here, which leaves out the
// property that it loses only among more: that nobody has less when one leaves.
// A. Ghodsi et al., "Dominant resource fairness: fair
// allocation of multiple resource types", NSDI 2011, sections 5 and 6.
package main
