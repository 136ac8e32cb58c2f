// Package experiments runs frameworks on offers in virtual time: the model and the
// experiments of B. Hindman et al., "Mesos: a platform for fine-grained resource
// sharing in the data center", NSDI 2011, and what the Omega paper (M.
// Schwarzkopf et al., EuroSys 2013, section 4.2) found wrong with it.
//
//	  events, in virtual time ──► world ── Step, when something is due ──┐
//	                                │                                    ▼
//	┌───────────┐ News: offers      │ tells who has news    ┌────────────────┐
//	│ framework │◄──────────────────┴───────────────────────┤ offers.Master  │
//	│   pick    ├── Accept, Decline, Release, Request ──────►│ on omega.Cell  │
//	└───────────┘                                           └────────────────┘
//
// What decides is the library; simulated are time and tasks. Frameworks answer in
// the instant in which they are offered something, unless how long they take is
// what is measured. A run is the same whenever its seed is; what a framework draws
// does not depend on how others fare, so that two ways to do the same work are
// compared on the same work.
//
//   - model: ramp-up, completion and utilisation beside the formulas of section 5.
//     Where the paper writes ln k for the mean of the largest of k exponential
//     times, the exact sum 1 + 1/2 + ... + 1/k is meant here; formulas for elastic
//     jobs hold where beta is 1 or more. They count work: the job's own tasks are a
//     tenth of T, unless a case says otherwise.
//   - incentives: the same work with and without what section 5.4 says pays.
//   - sharing: four frameworks on a cell and on a quarter of it each (6.1).
//   - locality: delay scheduling on offers (6.3), with package delay.
//   - pathologies: a service framework that thinks for long, in nine manners.
//   - [Scale]: what a decision costs in a large and full cell (6.6), in real time.
//
// The paper's workloads are not public. Numbers of machines and frameworks, task
// lengths in the scale test and waits are the paper's, everything else is made up,
// and said where it stands.
package experiments
