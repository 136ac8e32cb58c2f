package federation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Two global masters and two cells run on goroutines, over a network that takes a
// millisecond. A task that has run for a second is done; one that is to stop stops.
func TestRun_SchedulesOnGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("over")
		ctx, stop := context.WithCancelCause(t.Context())
		var running sync.WaitGroup
		to := map[string]func(federation.Message) error{}
		var mu sync.Mutex
		send := func(m federation.Message) {
			time.AfterFunc(time.Millisecond, func() {
				mu.Lock()
				receive := to[m.To]
				if receive == nil {
					receive = to[m.To+"/"+m.From]
				}
				mu.Unlock()
				if err := receive(m); err != nil {
					t.Error(err)
				}
			})
		}
		ended := map[federation.Task]time.Duration{}
		began := time.Now()
		var globals []*federation.Global
		fronts := []string{"batch", "service"}
		for _, front := range fronts {
			g, err := federation.New(federation.Config{
				Name: front, Locals: []string{"east", "west"}, Grace: time.Second,
				Notify: func(e federation.Event) {
					if e.Kind == federation.Ended {
						mu.Lock()
						ended[e.Task] = time.Since(began)
						mu.Unlock()
					}
				},
			})
			require.NoError(t, err)
			globals = append(globals, g)
			mu.Lock()
			to[front] = g.Receive
			mu.Unlock()
		}
		for _, name := range []string{"east", "west"} {
			var cfg omega.Config
			for n := range 2 {
				cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint(n), Capacity: resources.Vector{1}})
			}
			cell, err := omega.NewCell(cfg)
			require.NoError(t, err)
			for _, front := range fronts {
				s, err := cell.Register(front, omega.Limits{Highest: 2})
				require.NoError(t, err)
				var v *federation.Verifier
				timers := map[federation.Task]*time.Timer{}
				v, err = federation.NewVerifier(federation.Local{
					Name: name, Scheduler: s, Partitions: federation.Split(2, fronts...),
					Notify: func(e federation.Event) {
						switch e.Kind {
						case federation.Started:
							timers[e.Task] = time.AfterFunc(time.Second, func() { _ = v.Done(e, true) })
						case federation.Stopping:
							timers[e.Task].Stop()
							_ = v.Done(e, false)
						}
					},
				})
				require.NoError(t, err)
				mu.Lock()
				to[name+"/"+front] = v.Receive
				mu.Unlock()
				running.Go(func() {
					if err := v.Run(ctx, send); !errors.Is(err, over) {
						t.Errorf("the verifier of %s at %s ends with %v", front, name, err)
					}
				})
			}
		}
		for _, g := range globals {
			running.Go(func() {
				if err := g.Run(ctx, send); !errors.Is(err, over) {
					t.Errorf("a global master ends with %v", err)
				}
			})
		}
		require.NoError(t, globals[0].Submit(federation.Job{Name: "nightly", User: "b", Tasks: 6, Need: resources.Vector{1}}))
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, globals[1].Submit(federation.Job{Name: "request", User: "s", Tasks: 1, Need: resources.Vector{1}, Precedence: 1}))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		require.Len(t, ended, 7)
		require.Less(t, ended[federation.Task{Job: "request"}], 1600*time.Millisecond, "it preempted a task, whose half second is lost")
		mu.Unlock()
		stop(over)
		running.Wait()
		time.Sleep(time.Minute) // for the messages on their way
	})
}
