package schedulers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-version"
	"github.com/hashicorp/nomad/client/lib/numalib"
	"github.com/hashicorp/nomad/client/lib/numalib/hw"
	"github.com/hashicorp/nomad/helper/uuid"
	"github.com/hashicorp/nomad/nomad/state"
	"github.com/hashicorp/nomad/nomad/structs"
	nomadsched "github.com/hashicorp/nomad/scheduler"
	sstructs "github.com/hashicorp/nomad/scheduler/structs"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// nomadPlacer is Nomad's batch scheduler on its state store: a job is registered, and an
// evaluation of it is processed. The placer is the planner of the scheduler, and checks a plan
// as Nomad's leader does. Raft, the broker of evaluations and the clients are left out.
type nomadPlacer struct {
	tb    testing.TB
	state *state.StateStore
	index uint64
	nodes []string
	held  []nomadGrant // by task
	last  []*structs.Allocation
	dead  []nomadGrant // are collected together
	jobs  int          // registered so far
}

// nomadGrant is an allocation with the objects that go with it.
type nomadGrant struct{ job, eval, alloc, node string }

// collected is the number of ended jobs that are deleted in one transaction.
const collected = 256

func openNomad(tb testing.TB, s setting) placer {
	tb.Helper()
	store, err := state.NewStateStore(&state.StateStoreConfig{
		Logger: hclog.NewNullLogger(), Region: "global", JobTrackedVersions: structs.JobDefaultTrackedVersions,
	})
	require.NoError(tb, err)
	p := &nomadPlacer{tb: tb, state: store, held: make([]nomadGrant, len(s.needs))}
	p.must(store.SchedulerSetConfig(p.next(), &structs.SchedulerConfiguration{
		SchedulerAlgorithm: structs.SchedulerAlgorithmBinpack,
	}))
	for i := range s.machines {
		node := nomadNode(i, &s.capacity)
		p.nodes = append(p.nodes, node.ID)
		p.must(store.UpsertNode(structs.MsgTypeTestSetup, p.next(), node))
	}
	p.load(&s)
	return p
}

func (p *nomadPlacer) must(err error) {
	if err != nil {
		p.tb.Fatal(err)
	}
}

func (p *nomadPlacer) next() uint64 {
	p.index++
	return p.index
}

func nomadNode(i int, capacity *load.Need) *structs.Node {
	node := &structs.Node{
		ID: uuid.Generate(), SecretID: uuid.Generate(), Name: fmt.Sprint("node-", i),
		Datacenter: "dc1", NodePool: structs.NodePoolDefault, Status: structs.NodeStatusReady,
		SchedulingEligibility: structs.NodeSchedulingEligible,
		Attributes:            map[string]string{"kernel.name": "linux", "driver.exec": "1"},
		Drivers:               map[string]*structs.DriverInfo{"exec": {Detected: true, Healthy: true}},
		NodeResources: &structs.NodeResources{
			Processors: structs.NodeProcessorResources{Topology: &numalib.Topology{
				Cores: []numalib.Core{{}}, OverrideTotalCompute: hw.MHz(capacity[0]),
			}},
			Memory:       structs.NodeMemoryResources{MemoryMB: capacity[1]},
			Disk:         structs.NodeDiskResources{DiskMB: capacity[2]},
			Networks:     structs.Networks{{Mode: "host", Device: "eth0", CIDR: "192.0.2.1/32", MBits: 1_000}},
			NodeNetworks: []*structs.NodeNetworkResource{{Mode: "host", Device: "eth0", Speed: 1_000}},
		},
	}
	node.NodeResources.Compatibility()
	if err := node.ComputeClass(); err != nil {
		panic(err)
	}
	return node
}

const group = "group"

// job returns a job of k alike tasks, with the third kind as local storage.
func (p *nomadPlacer) job(need *load.Need, k int) *structs.Job {
	p.jobs++
	name := fmt.Sprint("job-", p.jobs)
	return &structs.Job{
		Region: "global", Namespace: structs.DefaultNamespace, ID: name, Name: name,
		Type: structs.JobTypeBatch, Priority: structs.JobDefaultPriority, Datacenters: []string{"*"},
		NodePool: structs.NodePoolDefault, Status: structs.JobStatusPending,
		TaskGroups: []*structs.TaskGroup{{
			Name: group, Count: k,
			EphemeralDisk:    &structs.EphemeralDisk{SizeMB: int(need[2])},
			RestartPolicy:    &structs.RestartPolicy{Mode: structs.RestartPolicyModeFail},
			ReschedulePolicy: &structs.ReschedulePolicy{},
			Tasks: []*structs.Task{{
				Name: "task", Driver: "exec", LogConfig: structs.DefaultLogConfig(),
				Resources: &structs.Resources{CPU: int(need[0]), MemoryMB: int(need[1])},
			}},
		}},
	}
}

// load gives each task that runs from the beginning a job and an allocation.
func (p *nomadPlacer) load(s *setting) {
	const part = 1_000
	var jobs []*structs.Job
	var allocs []*structs.Allocation
	flush := func() {
		index := p.next()
		p.must(p.state.WithWriteTransaction(structs.MsgTypeTestSetup, index, func(txn state.Txn) error {
			for _, job := range jobs {
				if err := p.state.UpsertJobTxn(index, nil, job, txn); err != nil {
					return err
				}
			}
			return nil
		}))
		p.must(p.state.UpsertAllocs(structs.MsgTypeTestSetup, p.next(), allocs))
		jobs, allocs = nil, nil
	}
	s.eachRunning(func(task, machine int) {
		need := &s.needs[task]
		job := p.job(need, 1)
		alloc := &structs.Allocation{
			ID: uuid.Generate(), EvalID: uuid.Generate(), NodeID: p.nodes[machine], Namespace: job.Namespace,
			JobID: job.ID, Job: job, TaskGroup: group, Name: structs.AllocName(job.ID, group, 0),
			DesiredStatus: structs.AllocDesiredStatusRun, ClientStatus: structs.AllocClientStatusPending,
			AllocatedResources: &structs.AllocatedResources{
				Tasks: map[string]*structs.AllocatedTaskResources{"task": {
					Cpu:    structs.AllocatedCpuResources{CpuShares: need[0]},
					Memory: structs.AllocatedMemoryResources{MemoryMB: need[1]},
				}},
				Shared: structs.AllocatedSharedResources{DiskMB: need[2]},
			},
		}
		p.held[task] = nomadGrant{job.ID, alloc.EvalID, alloc.ID, alloc.NodeID}
		if jobs, allocs = append(jobs, job), append(allocs, alloc); len(jobs) == part {
			flush()
		}
	})
	flush()
}

func (p *nomadPlacer) place(task int, need *load.Need) bool { return p.placeJob(task, need, 1) == 1 }

func (p *nomadPlacer) placeJob(first int, need *load.Need, k int) (placed int) {
	job := p.job(need, k)
	p.must(p.state.UpsertJob(structs.MsgTypeTestSetup, p.next(), nil, job))
	eval := &structs.Evaluation{
		ID: uuid.Generate(), Namespace: job.Namespace, Priority: job.Priority, Type: job.Type, JobID: job.ID,
		TriggeredBy: structs.EvalTriggerJobRegister, JobModifyIndex: p.index, Status: structs.EvalStatusPending,
	}
	p.must(p.UpdateEval(eval))
	snap, err := p.state.Snapshot()
	p.must(err)
	p.last = p.last[:0]
	p.must(nomadsched.NewBatchScheduler(hclog.NewNullLogger(), make(chan any, 1), snap, p).Process(eval))
	for _, alloc := range p.last {
		p.held[first+placed] = nomadGrant{job.ID, eval.ID, alloc.ID, alloc.NodeID}
		placed++
	}
	return placed
}

// release reports the end of a task, as its client does. Jobs of one task that have ended are
// deleted with their evaluations and allocations, as by Nomad's collector.
func (p *nomadPlacer) release(task int) {
	grant := p.held[task]
	end := &structs.Allocation{ID: grant.alloc, NodeID: grant.node, ClientStatus: structs.AllocClientStatusComplete}
	p.must(p.state.UpdateAllocsFromClient(structs.MsgTypeTestSetup, p.next(), []*structs.Allocation{end}))
	if p.dead = append(p.dead, grant); len(p.dead) == collected {
		p.collect()
	}
}

func (p *nomadPlacer) collect() {
	var evals, allocs []string
	for _, g := range p.dead {
		evals, allocs = append(evals, g.eval), append(allocs, g.alloc)
	}
	p.must(p.state.DeleteEval(p.next(), evals, allocs, false))
	index := p.next()
	p.must(p.state.WithWriteTransaction(structs.MsgTypeTestSetup, index, func(txn state.Txn) error {
		for _, g := range p.dead {
			if err := p.state.DeleteJobTxn(index, structs.DefaultNamespace, g.job, txn); err != nil {
				return err
			}
		}
		return nil
	}))
	p.dead = p.dead[:0]
}

// SubmitPlan commits the allocations of those nodes on which all of them fit.
func (p *nomadPlacer) SubmitPlan(plan *structs.Plan) (*structs.PlanResult, sstructs.State, error) {
	result := &structs.PlanResult{NodeAllocation: make(map[string][]*structs.Allocation)}
	now := time.Now().UnixNano()
	for id, allocs := range plan.NodeAllocation {
		node, err := p.state.NodeByID(nil, id)
		p.must(err)
		present, err := p.state.AllocsByNodeTerminal(nil, id, false)
		p.must(err)
		if fit, reason, _, err := structs.AllocsFit(node, append(present[:len(present):len(present)], allocs...), nil, true); !fit || err != nil {
			return nil, nil, fmt.Errorf("a lone scheduler overbooked node %s: %s: %w", node.Name, reason, err)
		}
		result.NodeAllocation[id] = allocs
		for _, alloc := range allocs {
			alloc.CreateTime, alloc.ModifyTime = now, now
			p.last = append(p.last, alloc)
		}
	}
	result.AllocIndex = p.next()
	return result, nil, p.state.UpsertPlanResults(structs.MsgTypeTestSetup, result.AllocIndex, &structs.ApplyPlanResultsRequest{
		AllocUpdateRequest: structs.AllocUpdateRequest{AllocsUpdated: p.last, Job: plan.Job}, EvalID: plan.EvalID, UpdatedAt: now,
	})
}

func (p *nomadPlacer) UpdateEval(eval *structs.Evaluation) error {
	return p.state.UpsertEvals(structs.MsgTypeTestSetup, p.next(), []*structs.Evaluation{eval})
}

// CreateEval is told about tasks that found no room. They do not wait here.
func (p *nomadPlacer) CreateEval(*structs.Evaluation) error { return nil }

func (p *nomadPlacer) ReblockEval(*structs.Evaluation) error { return nil }

func (p *nomadPlacer) ServersMeetMinimumVersion(*version.Version, bool) bool { return true }
