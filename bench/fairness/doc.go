// Fairness prints the results, on the DRF paper's examples, of the two policies that
// the paper compares itself with. It prints the numbers by which each loses a property.
//
//	go -C bench run ./fairness
//
// Asset Fairness equalises users' total holdings: the sum of their fractions of
// each kind. Competitive equilibrium from equal incomes (CEEI) lets users trade
// equal parts of everything in a perfect market. That is the same as making the
// product of their tasks as large as it can be. Both are for tasks that can be
// divided, as [allot.Divide] is. CEEI is for two users here. That leaves out the
// property that it loses only among more: that no user has less when one leaves.
// A. Ghodsi et al., "Dominant resource fairness: fair
// allocation of multiple resource types", NSDI 2011, sections 5 and 6.
package main
