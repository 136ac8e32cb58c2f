package trace

import (
	"io"
	"iter"
	"strings"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Alibaba reads the pods of the GPU trace that Alibaba published in 2023 (Q. Weng
// et al., "Beware of Fragmentation", USENIX ATC 2023): openb_pod_list_*.csv. Each
// is a job of one task.
//
// A pod runs for as long as it did there, from scheduled_time to deletion_time;
// one that never ran, from its creation. The trace names no users: Class is the
// QoS class, by which Priority goes, too: 3 for Guaranteed, 2 for LS, 1 for
// Burstable and 0 for BE. A need for GPUs is a sum over the machine, in
// thousandths: that a part of one must come from a single device is not modelled.
func Alibaba(file string, r io.Reader) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		t := newTable(file, r, ',')
		at, err := t.names(11, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos",
			"pod_phase", "creation_time", "deletion_time", "scheduled_time")
		each(t, err, t.next, "a pod", yield, func() (Job, error) { return pod(t, at) })
	}
}

func pod(t *table, at []int) (Job, error) {
	name, err := t.name(at[0])
	if err != nil {
		return Job{}, err
	}
	work := Tasks{Count: 1, Line: t.line, At: marked(t.mark(at[0]))}
	work.At.Duration, work.At.Models = t.mark(at[9]), t.mark(at[5])
	work.At.Need[CPU], work.At.Need[Memory], work.At.Need[GPU] = t.mark(at[1]), t.mark(at[2]), t.mark(at[3])
	if work.Need, err = shape(t, at[1], at[2], at[3]); err != nil {
		return Job{}, err
	}
	part, err := t.integer(at[4], 0, 1000)
	if err != nil {
		return Job{}, err
	}
	switch work.Need[GPU] {
	case 0:
		if part != 0 {
			return Job{}, t.bad(at[4], "0 where num_gpu is 0")
		}
	case 1000:
		if work.Need[GPU] = part; part == 0 {
			return Job{}, t.bad(at[4], "1 to 1000 where num_gpu is 1")
		}
		work.At.Need[GPU] = t.mark(at[4])
	default:
		if part != 1000 {
			return Job{}, t.bad(at[4], "1000 where num_gpu is more than 1")
		}
	}
	if work.Need == (resources.Vector{}) {
		return Job{}, t.bad(at[1], "some of cpu, memory or gpu")
	}
	if spec := t.fields[at[5]]; spec != "" {
		work.Models = strings.Split(strings.Clone(spec), "|")
	}
	priority, ok := qosPriority(t.fields[at[6]])
	if !ok {
		return Job{}, t.bad(at[6], "LS, BE, Burstable or Guaranteed")
	}
	created, err := t.integer(at[8], 0, maxSeconds-1)
	if err != nil {
		return Job{}, err
	}
	began := created
	if t.fields[at[10]] != "" { // one that is Pending was never scheduled
		if began, err = t.integer(at[10], created, maxSeconds-1); err != nil {
			return Job{}, err
		}
	}
	deleted, err := t.integer(at[9], began, maxSeconds-1)
	if err != nil {
		return Job{}, err
	}
	work.Duration = time.Duration(deleted-began) * time.Second
	return Job{
		ID: name, Class: strings.Clone(t.fields[at[6]]), Priority: priority,
		Submit: time.Duration(created) * time.Second, Work: []Tasks{work}, Line: t.line,
		UserAt: t.position(at[0]), SubmitAt: t.position(at[8]),
	}, nil
}

func qosPriority(qos string) (int64, bool) {
	switch qos {
	case "BE":
		return 0, true
	case "Burstable":
		return 1, true
	case "LS":
		return 2, true
	case "Guaranteed":
		return 3, true
	}
	return 0, false
}

// AlibabaNodes reads the machines of the same trace: openb_node_list_*.csv.
func AlibabaNodes(file string, r io.Reader) iter.Seq2[Machine, error] {
	return func(yield func(Machine, error) bool) {
		t := newTable(file, r, ',')
		at, err := t.names(5, "sn", "cpu_milli", "memory_mib", "gpu", "model")
		each(t, err, t.next, "a machine", yield, func() (m Machine, err error) {
			if m.Name, err = t.name(at[0]); err != nil {
				return Machine{}, err
			}
			if m.Capacity, err = shape(t, at[1], at[2], at[3]); err != nil {
				return Machine{}, err
			}
			if m.Capacity == (resources.Vector{}) {
				return Machine{}, t.bad(at[1], "some of cpu, memory or gpu")
			}
			m.Model, m.Line, m.Column = strings.Clone(t.fields[at[4]]), t.line, t.column(at[0])
			return m, nil
		})
	}
}

// shape reads millicores, MiB and whole GPUs.
func shape(t *table, cpu, memory, gpu int) (v resources.Vector, err error) {
	if v[CPU], err = t.integer(cpu, 0, 1e9); err != nil {
		return v, err
	}
	mib, err := t.integer(memory, 0, 1<<32)
	if err != nil {
		return v, err
	}
	n, err := t.integer(gpu, 0, 1e6)
	v[Memory], v[GPU] = mib<<20, n*1000
	return v, err
}
