// Offers prints what two-level scheduling does in the experiments of its papers.
//
//	go -C bench run ./offers                         all of them, one seed each
//	go -C bench run ./offers -experiment model -seeds 20
//	go -C bench run ./offers -experiment scale       50,000 machines, 200 frameworks, in real time
//	go -C bench run ./offers -json                   rows for machines
//
// Experiments are model, incentives, sharing, locality and pathologies, as package
// experiments says, and scale, which runs by itself only. Figures are means over
// the seeds, from 1 on, with the least and the most of any seed; in parentheses is
// what the paper's formula says. Interrupted, it prints nothing.
package main
