package resources_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// A worker has some room left and a task asks for a part of it, both as people
// write them.
func ExampleSpace() {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu"})
	if err != nil {
		fmt.Println(err)
		return
	}
	free, _ := space.Parse("cpu=4,memory=8Gi,gpu=1")
	task, _ := space.Parse("cpu=500m, memory=1.5Gi")

	rest, ok := free.Sub(task)
	fmt.Println(ok, space.Format(rest))

	_, ok = rest.Sub(task.Scale(8))
	fmt.Println(ok, space.Format(task.Scale(8)))

	_, err = space.Parse("cpu=0.5m")
	fmt.Println(errors.Is(err, resources.ErrQuantity), err)
	// Output:
	// true cpu=3500m,memory=6656Mi,gpu=1
	// false cpu=4,memory=12Gi
	// true resources: invalid quantity: cpu is "0.5m", want a whole number of base units, which are 1000 to one
}

// A configuration file says what a tenant may use. The space is set before
// reading, since JSON has only names.
func ExampleNamed() {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	if err != nil {
		fmt.Println(err)
		return
	}
	var tenant struct {
		Name  string
		Limit resources.Named
	}
	tenant.Limit.Space = space

	err = json.Unmarshal([]byte(`{"Name": "reports", "Limit": {"memory": "1.5Gi", "cpu": 2}}`), &tenant)
	fmt.Println(tenant.Limit, err)

	err = json.Unmarshal([]byte(`{"Limit": {"cpu": 4, "disk": "1T"}}`), &tenant)
	fmt.Println(tenant.Limit, err)

	text, err := json.Marshal(tenant)
	fmt.Println(string(text), err)
	// Output:
	// cpu=2,memory=1536Mi <nil>
	// cpu=2,memory=1536Mi resources: invalid kind: "disk", want one of ["cpu" "memory"]
	// {"Name":"reports","Limit":{"cpu":"2","memory":"1536Mi"}} <nil>
}

// A program sizes its pool of workers by what it may use, in units of its own:
// whole cores, and memory that one worker needs.
func ExampleHost() {
	host, err := resources.Host()
	if err != nil {
		fmt.Println(err)
		return
	}
	worker, err := host.Space.Parse("cpu=1,memory=64Mi")
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := 0
	for worker.Scale(int64(workers + 1)).Fits(host.Vector) {
		workers++
	}
	fmt.Println("room for a worker:", workers > 0)

	cores, _ := resources.NewSpace(resources.Dimension{Name: "cpu"})
	_, err = host.In(cores)
	fmt.Println("memory has no place in a space without it:", errors.Is(err, resources.ErrKind))
	// Output:
	// room for a worker: true
	// memory has no place in a space without it: true
}

// Of 9 CPUs and 18 GB one user holds ⟨3, 12⟩ and another ⟨6, 2⟩. Both have a
// dominant share of two thirds, and neither is ahead. A third user wants an absent
// kind.
func ExampleVector_DominantShare() {
	total := resources.Vector{9, 18}
	for _, used := range []resources.Vector{{3, 12}, {6, 2}, {1, 1, 1}} {
		share, kind, ok := used.DominantShare(total)
		fmt.Printf("%.2f of kind %d, %v\n", share, kind, ok)
	}
	// Output:
	// 0.67 of kind 1, true
	// 0.67 of kind 0, true
	// 0.00 of kind 2, false
}
