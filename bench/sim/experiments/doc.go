// Package experiments is the sweeps behind the figures of the Omega paper, as functions
// that return rows: [All] lists them. The paper is by M. Schwarzkopf, A. Konwinski, M.
// Abd-El-Malek and J. Wilkes, EuroSys 2013. [Rogue] is about a question that the paper
// leaves open: how schedulers fare beside one that does not keep to rules.
//
// Workloads are synthetic, since those of the paper are Google's. So only the shape of
// the curves, and the ratios between numbers of conflicts, are to be compared with the
// paper. With the published simulator, which was run on the same
// workloads, the numbers themselves can be compared.
package experiments
