// Gpu runs tasks that need a GPU beside tasks that need CPU alone, on one host with
// two GPUs. Each GPU is a machine of the pool, so that a lease names one.
//
//	go run ./examples/gpu
//
// A task with a GPU is a child process that sees that GPU alone. Here the child
// prints which it sees.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// CUDA programs are told their devices by a variable. Numbers are those of nvidia-smi where
// order is byBus: the default order is by speed.
const (
	visible = "CUDA_VISIBLE_DEVICES"
	order   = "CUDA_DEVICE_ORDER"
	byBus   = "PCI_BUS_ID"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "-child" {
		child(os.Args[2])
		return
	}
	ctx := context.Background()
	page, err := serve.Start(ctx)
	if err == nil {
		err = run(ctx, page, func(ctx context.Context, task, device string) error { return launch(ctx, os.Stdout, task, device) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

// child is the program that computes.
func child(task string) {
	fmt.Printf("%-12s sees device %q", task, os.Getenv(visible))
	if by := os.Getenv(order); by != byBus {
		fmt.Printf(" by %q", by)
	}
	fmt.Println()
	<-time.After(100 * time.Millisecond) // the work
}

// run plays the tasks. launch runs one of them. The device is empty for a task without a GPU.
func run(ctx context.Context, page *serve.Page, launch func(ctx context.Context, task, device string) error) error {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu", PerUnit: 1000})
	if err != nil {
		return err
	}
	var machines []omega.Machine
	for _, m := range []struct{ name, has string }{{"host", "cpu=4,memory=8Gi"}, {"0", "gpu=1"}, {"1", "gpu=1"}} {
		capacity, err := space.Parse(m.has)
		if err != nil {
			return err
		}
		machines = append(machines, omega.Machine{Name: m.name, Capacity: capacity})
	}
	p, err := pool.New(pool.Config{
		Space: space, Machines: machines,
		Tenants: map[string]pool.Settings{"training": {Weight: 2}, "inference": {}, "reports": {}},
	})
	if err != nil {
		return err
	}
	page.Show("/cell/", view.Config{Pools: map[string]*pool.Pool{"gpu": p}})

	// A task with a GPU also takes CPU and memory of the host: both needs or none.
	gpu, err := space.Parse("gpu=1")
	if err != nil {
		return err
	}
	host, err := space.Parse("cpu=1,memory=1Gi")
	if err != nil {
		return err
	}
	ended := make(chan error)
	tasks := 0
	start := func(tenant string, needs ...resources.Vector) {
		tasks++
		name := fmt.Sprintf("%s %d", tenant, tasks)
		go func() {
			ended <- p.Do(ctx, tenant, pool.Request{Needs: needs, Label: name}, func(ctx context.Context, leases []pool.Lease) error {
				device := "" // none
				if len(leases) == 2 {
					device = leases[1].Machine()
				}
				return launch(ctx, name, device)
			})
		}()
	}
	for range 4 {
		start("training", host, gpu)
		start("inference", host, gpu)
		start("reports", host)
	}
	for range tasks {
		if e := <-ended; e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return p.Close(ctx)
}

// launch runs a task in a process of its own, which ends when the lease is preempted, and
// copies what it prints.
func launch(ctx context.Context, out io.Writer, task, device string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-child", task)
	cmd.Env = append(os.Environ(), visible+"="+device, order+"="+byBus)
	printed, err := cmd.Output()
	fmt.Fprintln(out, strings.TrimSpace(string(printed)))
	return err
}
