// Package schedulers measures cellsched beside the schedulers of Kubernetes and Nomad, in
// process, on the same machines and tasks in one run.
//
//	                         ┌▶ snapshot, next fit, commit ────── omega
//	release, place a task ───┼▶ job, evaluation, plan ─────────── Nomad's batch scheduler
//	                         └▶ queue, cycle of plugins, bind ─── Kubernetes' scheduler
//
// These two are servers, and most of their work is not placement. The parts that need a server
// are left out: no API server, no Raft, no etcd, no disk, no network. A pod is bound by
// a plugin that keeps it in memory. A plan is applied to Nomad's state store in memory, after
// the check of the leader: all allocations of a node fit. All objects of a task
// are made in the measured time, as for cellsched.
//
// # What more they check
//
// The tasks of these benchmarks need cpu, memory and one more kind. All rivals check the three. cellsched
// checks limits, accounts and owners besides, none of which is set here. The others check the
// following for each task, although no task here has such a demand:
//
//	            for each node that is looked at                       to choose among those that pass
//	kubernetes  name, cordon, taints, node affinity, host ports,      free and balanced resources, taints, node and pod
//	            volumes and their zones and limits, topology spread,  affinity, topology spread, images; of the first 230
//	            pod affinity, claims of devices                       of 500 nodes that pass, or the first 500 of 5,000
//	nomad       datacenter, pool, drivers, constraints, devices,      bin packing, nodes of the same job, penalties after
//	            host and CSI volumes, network, secrets, quotas,       failures, affinity, spread; of the first 2 that
//	            distinct hosts, ports, cores                          pass, in random order
//
// They also keep more for a task. A pod passes a queue with priorities and back-off. A job of Nomad has
// versions, a summary and a status. Its evaluation and allocation are rows of their own,
// with indexes by node, job, evaluation and namespace. Each evaluation lists and shuffles all
// nodes, which a job of many tasks pays once.
//
// # Settings
//
//	kubernetes      v1.37.2, default profile, as many threads as cores
//	kubernetes-fit  the same with the plugin NodeResourcesFit alone, which looks for 100 nodes, the fewest that
//	                can be set
//	nomad           v1.11.0, batch jobs, bin packing, no preemption; ended jobs are collected 256 at a time
//
// Nomad is under the Business Source License. This module uses it to measure, and no other
// module requires it.
//
// It is a module of its own, because its packages, more than a thousand, take minutes to compile. The schedulers' modules
// need no replace lines: each module of Kubernetes is required at its published version.
package schedulers
