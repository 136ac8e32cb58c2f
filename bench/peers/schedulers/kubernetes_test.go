package schedulers_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	kschedruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// kubePlacer is the scheduler of Kubernetes: its queue, cache and plugins. The API server
// is left out: a pod is bound by a plugin that keeps it in memory, and the events by
// which the server would report that are calls.
type kubePlacer struct {
	tb     testing.TB
	ctx    context.Context //nolint:containedctx // as long-lived as the scheduler
	sched  *scheduler.Scheduler
	held   []*v1.Pod // by task, bound
	bound  chan *v1.Pod
	failed bool
}

// openKubernetes opens a scheduler with the default profile.
func openKubernetes(tb testing.TB, s setting) placer {
	tb.Helper()
	return newKube(tb, s, func(*config.KubeSchedulerProfile) {})
}

// openKubernetesFit opens a scheduler that checks and scores resources only. Its search
// ends after 100 nodes that pass, the fewest that can be set.
func openKubernetesFit(tb testing.TB, s setting) placer {
	tb.Helper()
	return newKube(tb, s, func(p *config.KubeSchedulerProfile) {
		fewest := int32(1)
		p.PercentageOfNodesToScore = &fewest
		p.Plugins.MultiPoint.Enabled = slices.DeleteFunc(p.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
			return !slices.Contains([]string{names.PrioritySort, names.NodeResourcesFit, binder}, p.Name)
		})
	})
}

func newKube(tb testing.TB, s setting, alter func(*config.KubeSchedulerProfile)) placer {
	tb.Helper()
	klog.SetLogger(logr.Discard())
	ctx := klog.NewContext(tb.Context(), logr.Discard())
	p := &kubePlacer{tb: tb, ctx: ctx, held: make([]*v1.Pod, len(s.needs)), bound: make(chan *v1.Pod, 1)}

	defaults, err := latest.Default()
	require.NoError(tb, err)
	profile := defaults.Profiles[0]
	for i, plugin := range profile.Plugins.MultiPoint.Enabled {
		if plugin.Name == names.DefaultBinder {
			profile.Plugins.MultiPoint.Enabled[i].Name = binder
		}
	}
	alter(&profile)

	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://localhost:1"}) // is never asked
	require.NoError(tb, err)
	p.sched, err = scheduler.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil,
		func(string) events.EventRecorderLogger { return silence{} },
		scheduler.WithProfiles(profile),
		scheduler.WithParallelism(int32(runtime.GOMAXPROCS(0))),
		scheduler.WithFrameworkOutOfTreeRegistry(kschedruntime.Registry{
			binder: func(context.Context, kruntime.Object, fwk.Handle) (fwk.Plugin, error) {
				return memoryBinder{p.bound}, nil
			},
		}),
	)
	require.NoError(tb, err)
	p.sched.FailureHandler = p.refuse
	tb.Cleanup(p.sched.SchedulingQueue.Close)

	for i := range s.machines {
		p.sched.Cache.AddNode(klog.FromContext(ctx), kubeNode(i, &s.capacity))
	}
	s.eachRunning(func(task, machine int) {
		pod := kubePod(task, &s.needs[task])
		pod.Spec.NodeName = kubeNodeName(machine)
		p.keep(task, pod)
	})
	return p
}

func kubeNodeName(i int) string { return fmt.Sprint("node-", i) }

func kubeNode(i int, capacity *load.Need) *v1.Node {
	list := kubeResources(capacity)
	list[v1.ResourcePods] = *resource.NewQuantity(1_000_000, resource.DecimalSI)
	name := kubeNodeName(i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}},
		Status:     v1.NodeStatus{Capacity: list, Allocatable: list},
	}
}

// kubePod is the pod of a task with one container. It preempts no other.
func kubePod(task int, need *load.Need) *v1.Pod {
	name := fmt.Sprint("task-", task)
	never := v1.PreemptNever
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{
			SchedulerName:    v1.DefaultSchedulerName,
			PreemptionPolicy: &never,
			Containers: []v1.Container{{
				Name: "task", Image: "task", Resources: v1.ResourceRequirements{Requests: kubeResources(need)},
			}},
		},
	}
}

// kubeResources gives the third kind as local storage.
func kubeResources(n *load.Need) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:              *resource.NewMilliQuantity(n[0], resource.DecimalSI),
		v1.ResourceMemory:           *resource.NewQuantity(n[1], resource.BinarySI),
		v1.ResourceEphemeralStorage: *resource.NewQuantity(n[2], resource.BinarySI),
	}
}

func (p *kubePlacer) place(task int, need *load.Need) bool {
	p.sched.SchedulingQueue.Add(p.ctx, kubePod(task, need))
	p.failed = false
	p.sched.ScheduleOne(p.ctx)
	if p.failed {
		return false
	}
	p.keep(task, <-p.bound)
	return true
}

func (p *kubePlacer) placeJob(first int, need *load.Need, k int) (placed int) {
	for placed < k && p.place(first+placed, need) {
		placed++
	}
	return placed
}

// keep reports a bound pod to the cache, as the API server's event does.
func (p *kubePlacer) keep(task int, pod *v1.Pod) {
	if err := p.sched.Cache.AddPod(klog.FromContext(p.ctx), pod); err != nil {
		p.tb.Fatal(err)
	}
	p.held[task] = pod
}

func (p *kubePlacer) release(task int) {
	if err := p.sched.Cache.RemovePod(klog.FromContext(p.ctx), p.held[task]); err != nil {
		p.tb.Fatal(err)
	}
	p.held[task] = nil
}

// refuse is the scheduler's handler of failures. A pod without room does not wait.
func (p *kubePlacer) refuse(
	_ context.Context, _ framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status, _ *fwk.NominatingInfo, _ time.Time,
) {
	if !status.IsRejected() {
		p.tb.Error(status.AsError())
	}
	p.sched.SchedulingQueue.Done(pod.Pod.UID)
	p.failed = true
}

const binder = "MemoryBinder"

// memoryBinder is a plugin that binds a pod without an API server.
type memoryBinder struct{ bound chan *v1.Pod }

func (memoryBinder) Name() string { return binder }

func (b memoryBinder) Bind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	b.bound <- pod
	return nil
}

// silence is a recorder that drops all events.
type silence struct{}

func (silence) Eventf(_, _ kruntime.Object, _, _, _, _ string, _ ...any) {}

func (s silence) WithLogger(klog.Logger) events.EventRecorderLogger { return s }
