// Package experiments is the sweeps behind the figures of the Omega paper (M.
// Schwarzkopf, A. Konwinski, M. Abd-El-Malek and J. Wilkes, EuroSys 2013),
// as functions that return rows: [All] lists them. [Rogue] is of what the paper
// leaves open: what becomes of schedulers beside one that does not keep to rules.
//
// Workloads are synthetic, since those of the paper are Google's; so what is to
// be compared with the paper is the shape of the curves, and what conflicts by
// how much more. With the published simulator, which was run on the same
// workloads, the numbers themselves can be compared.
package experiments
