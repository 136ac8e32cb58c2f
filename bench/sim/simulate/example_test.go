package simulate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

// Services take 20 s to place. In one queue batch jobs wait behind them; with
// schedulers of their own on shared state they do not.
func ExampleRun() {
	need := resources.Vector{simulate.CPU: 1000, simulate.Memory: 2 << 30}
	jobs, err := simulate.Generate(1, time.Hour,
		simulate.Source{
			Class: simulate.Batch, Need: need,
			Between: simulate.Exponential(10), Tasks: simulate.Exponential(20), Length: simulate.Exponential(100),
		},
		simulate.Source{
			Class: simulate.Service, Need: need,
			Between: simulate.Exponential(60), Tasks: simulate.Exponential(10), Length: simulate.Exponential(500),
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, service := simulate.DefaultThink(), simulate.Think{Job: 20 * time.Second}
	for _, a := range []simulate.Architecture{
		simulate.MultiPath(batch, service),
		simulate.SharedState(batch, service, 1),
	} {
		m, err := simulate.Run(context.Background(), simulate.Config{
			Cell:         simulate.Cell{Machines: 200, Capacity: resources.Vector{4000, 16 << 30}},
			Jobs:         jobs,
			Architecture: a,
			Horizon:      time.Hour,
			Seed:         1,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-10s  batch waits %.3f s, service conflicts %.2f\n", m.Name,
			m.Classes[simulate.Batch].Wait.Mean.Seconds(), m.Classes[simulate.Service].Conflicts())
	}
	// Output:
	// multi-path  batch waits 6.019 s, service conflicts 0.00
	// omega       batch waits 0.002 s, service conflicts 0.15
}
