package poolasynq_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool/poolasynq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A worker process that is killed in the middle of its tasks loses none that has a retry
// left. Asynq hands its running tasks to the next process. It archives those without one,
// also where they had not begun.
func TestMiddleware_LosesNoTaskOfAProcessThatIsKilled(t *testing.T) {
	q := newQueue(t)
	const tasks, single = 60, 30 // with retries left, and with none
	q.enqueue("a", 0, tasks)
	q.enqueue("a", tasks, single, asynq.MaxRetry(0))
	child := servertest.NewChild(t, "TestWorkerProcess", "POOLASYNQ_REDIS="+q.redis.Addr)
	for range 4 {
		child.Await("hangs") // until all slots are taken
	}
	child.Kill()
	before := q.info()
	lost := 0 // of those without a retry
	inspector := asynq.NewInspector(q.redis)
	active, err := inspector.ListActiveTasks("default", asynq.PageSize(tasks+single))
	require.NoError(t, err)
	require.NoError(t, inspector.Close())
	require.Len(t, active, before.Active)
	for _, task := range active {
		if task.MaxRetry == 0 {
			lost++
		}
	}
	require.GreaterOrEqual(t, lost, 2)
	require.GreaterOrEqual(t, before.Active-lost, 2)

	// For the test a minute passes: Asynq then takes the process for dead.
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", q.redis.Addr)
	require.NoError(t, err)
	_, err = fmt.Fprint(conn, `EVAL "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 1, id) end `+
		`return redis.call('ZCARD', KEYS[1])" 1 asynq:{default}:lease`+"\r\n")
	require.NoError(t, err)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(":%d\r\n", before.Active), answer)
	require.NoError(t, conn.Close())

	var left atomic.Int64
	left.Store(int64(tasks + single - lost - before.Completed))
	all := make(chan struct{})
	p := servertest.Slots(t, 4, "a")
	s := q.serve(middleware(t, p, 10*time.Millisecond), func(context.Context, *asynq.Task) error {
		if left.Add(-1) == 0 {
			close(all)
		}
		return nil
	})
	<-all
	s.Shutdown()
	require.Zero(t, left.Load(), "a task that had ended has run again")
	require.Zero(t, p.Stats().Leases)
	after := q.info()
	require.Equal(t, [...]int{tasks + single - lost, lost}, [...]int{after.Completed, after.Archived})
}

// TestWorkerProcess is the worker process of the test above. Two tasks of each kind hang.
func TestWorkerProcess(t *testing.T) {
	redis := os.Getenv("POOLASYNQ_REDIS")
	if redis == "" {
		t.Skip("the process of another test")
	}
	q := &queue{tb: t, redis: asynq.RedisClientOpt{Network: "unix", Addr: redis}}
	var kinds [2]atomic.Int64
	q.serve(middleware(t, servertest.Slots(t, 4, "a"), 10*time.Millisecond), func(ctx context.Context, _ *asynq.Task) error {
		kind := &kinds[0]
		if most, _ := asynq.GetMaxRetry(ctx); most == 0 {
			kind = &kinds[1]
		}
		if kind.Add(1) <= 2 {
			fmt.Println("hangs")
			select {}
		}
		return nil
	})
	select {}
}

// Functions of the program's own keep what is not put off.
func TestConfigure_KeepsTheFunctionsOfTheProgram(t *testing.T) {
	p := servertest.Slots(t, 1)
	m := middleware(t, p, time.Minute)
	require.NoError(t, p.Close(t.Context()))
	next := asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })
	later := m.Handler(next).ProcessTask(t.Context(), asynq.NewTask("a", nil))
	mine, harmless := errors.New("mine"), errors.New("harmless")
	var handled []error
	cfg := asynq.Config{
		Concurrency:    3,
		IsFailure:      func(err error) bool { return !errors.Is(err, harmless) },
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
		ErrorHandler: asynq.ErrorHandlerFunc(func(_ context.Context, _ *asynq.Task, err error) {
			handled = append(handled, err)
		}),
		DelayedTaskCheckInterval: time.Second,
	}
	m.Configure(&cfg)
	require.Equal(t, 100, cfg.Concurrency)
	require.Equal(t, time.Second, cfg.DelayedTaskCheckInterval)
	for _, err := range []error{later, mine, harmless} {
		cfg.ErrorHandler.HandleError(t.Context(), nil, err)
	}
	require.Equal(t, []error{mine, harmless}, handled)
	require.Equal(t, [...]bool{false, true, false}, [...]bool{cfg.IsFailure(later), cfg.IsFailure(mine), cfg.IsFailure(harmless)})
	require.Equal(t, time.Minute, cfg.RetryDelayFunc(1, later, nil))
	require.Equal(t, time.Hour, cfg.RetryDelayFunc(1, mine, nil))

	cfg = asynq.Config{}
	m.Configure(&cfg)
	require.Equal(t, [...]bool{false, true}, [...]bool{cfg.IsFailure(later), cfg.IsFailure(mine)})
	require.Equal(t, time.Minute, cfg.RetryDelayFunc(1, later, nil))
	require.Nil(t, cfg.ErrorHandler)
	require.Equal(t, 100*time.Millisecond, cfg.DelayedTaskCheckInterval)
	m.Configure(nil)
	(*poolasynq.Middleware)(nil).Configure(&cfg)
	require.True(t, cfg.IsFailure(mine))
}
