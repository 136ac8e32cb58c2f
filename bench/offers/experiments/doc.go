// Package experiments runs frameworks on offers in virtual time. It has the model and
// the experiments of B. Hindman et al., "Mesos: a platform for fine-grained resource
// sharing in the data center", NSDI 2011. It also has the faults that the Omega paper
// (M. Schwarzkopf et al., EuroSys 2013, section 4.2) found in it.
//
//	  events, in virtual time ──► world ── Step, when something is due ──┐
//	                                │                                    ▼
//	┌───────────┐ News: offers      │ tells it of news      ┌────────────────┐
//	│ framework │◄──────────────────┴───────────────────────┤ offers.Master  │
//	│   pick    ├── Accept, Decline, Release, Request ──────►│ on omega.Cell  │
//	└───────────┘                                           └────────────────┘
//
// The library decides; time and tasks are simulated. Frameworks answer in
// the instant in which they are offered something, unless the time to answer is
// measured. A run is the same whenever its seed is. The random numbers of a framework
// do not depend on how others fare, so that two ways to do the same work are
// compared on the same work.
//
//   - model: ramp-up, completion and utilisation beside the formulas of section 5.
//     Where the paper writes ln k for the mean of the largest of k exponential
//     times, the exact sum 1 + 1/2 + ... + 1/k is meant here. Formulas for elastic
//     jobs hold where beta is 1 or more. They count work: the job's own tasks are a
//     tenth of T, unless a case says otherwise.
//   - incentives: the same work with and without the measures that section 5.4 says pay.
//   - sharing: four frameworks on a cell and on a quarter of it each (6.1).
//   - locality: delay scheduling on offers (6.3), with package delay.
//   - pathologies: a service framework that thinks for long, in nine manners.
//   - [Scale]: the cost of a decision in a large and full cell (6.6), in real time.
//
// The paper's workloads are not public. Numbers of machines and frameworks, task
// lengths in the scale test and waits are the paper's, everything else is made up,
// and said where it stands.
package experiments
