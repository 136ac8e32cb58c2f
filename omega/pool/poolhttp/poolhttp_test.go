package poolhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolhttp"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server with one slot. Its customers wait half a second at most.
func Example() {
	slots, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "server", Capacity: resources.Vector{1}}}})
	if err != nil {
		panic(err)
	}
	admit, err := poolhttp.New(poolhttp.Config{Pool: slots, Ask: func(r *http.Request) (string, pool.Request, error) {
		return "customer " + r.Header.Get("Customer"), pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second / 2}, nil
	}})
	if err != nil {
		panic(err)
	}
	handler := admit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for lease := range pool.Leases(r.Context()) {
			fmt.Fprint(w, "served by ", lease.Machine())
		}
	}))

	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(answer.Code, answer.Body)

	taken, _ := slots.TryAcquire("other", resources.Vector{1})
	answer = httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(answer.Code, "come back after", answer.Header().Get("Retry-After"), "s")
	_ = taken.Release()
	// Output:
	// 200 served by server
	// 429 come back after 1 s
}

// world is a middleware around a handler, on a pool of one slot.
type world struct {
	pool    *pool.Pool
	handler http.Handler
	refused []error
}

func newWorld(t *testing.T, next http.HandlerFunc) *world {
	t.Helper()
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	w := &world{pool: p}
	admit, err := poolhttp.New(poolhttp.Config{
		Pool: p,
		Ask: func(r *http.Request) (string, pool.Request, error) {
			if r.Header.Get("Tenant") == "unknown" {
				return "", pool.Request{}, errors.New("mine")
			}
			n := int64(1)
			if r.Header.Get("Large") != "" {
				n = 2
			}
			return r.Header.Get("Tenant"), pool.Request{Needs: []resources.Vector{{n}}, MaxWait: time.Minute}, nil
		},
		Refuse: func(out http.ResponseWriter, _ *http.Request, status int, err error) {
			w.refused = append(w.refused, err)
			out.WriteHeader(status)
		},
	})
	require.NoError(t, err)
	w.handler = admit(next)
	return w
}

func (w *world) serve(ctx context.Context, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, r)
	return answer
}

func TestNew_AnswersWithTheStatusOfTheRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(http.ResponseWriter, *http.Request) { t.Error("was admitted") })
		held, _ := w.pool.TryAcquire("other", resources.Vector{1})

		answer := w.serve(t.Context(), "Tenant", "a")
		require.Equal(t, http.StatusTooManyRequests, answer.Code)
		require.Equal(t, "60", answer.Header().Get("Retry-After"), "no lease has ended: as long as the wait")
		require.Equal(t, http.StatusBadRequest, w.serve(t.Context(), "Tenant", "unknown").Code)
		require.Equal(t, http.StatusBadRequest, w.serve(t.Context(), "Tenant", "").Code)
		require.Equal(t, http.StatusBadRequest, w.serve(t.Context(), "Tenant", "a", "Large", "yes").Code)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.Equal(t, http.StatusServiceUnavailable, w.serve(ctx, "Tenant", "a").Code)
		require.NoError(t, held.Release())
		require.NoError(t, w.pool.Close(t.Context()))
		answer = w.serve(t.Context(), "Tenant", "a")
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Empty(t, answer.Header().Get("Retry-After"))

		for i, want := range []error{pool.ErrWait, nil, pool.ErrTenant, pool.ErrNeed, context.Canceled, pool.ErrClosed} {
			if want != nil {
				require.ErrorIs(t, w.refused[i], want)
			}
		}
		require.EqualError(t, w.refused[1], "mine")
	})
}

// The header knows whole seconds. A client that came a moment too early would be refused again.
func TestNew_RoundsRetryAfterUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
		_, err := w.pool.Tenant("a", pool.Settings{Rate: 1.0 / 70, Burst: 1}) // a token each 70 s
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, w.serve(t.Context(), "Tenant", "a").Code)
		time.Sleep(700 * time.Millisecond)
		answer := w.serve(t.Context(), "Tenant", "a") // waits a minute: 9.3 s are left
		require.Equal(t, http.StatusTooManyRequests, answer.Code)
		require.Equal(t, "10", answer.Header().Get("Retry-After"))
	})
}

// A handler that has begun has answered by itself: the middleware adds nothing.
func TestNew_LeavesTheAnswerOfAPreemptedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		owner, err := w.pool.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
		require.NoError(t, err)
		admit, err := poolhttp.New(poolhttp.Config{Pool: w.pool, Ask: func(*http.Request) (string, pool.Request, error) {
			return "a", pool.Request{Needs: []resources.Vector{{1}}}, nil
		}})
		require.NoError(t, err)
		done := make(chan error)
		w.handler = admit(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			go func() {
				l, err := owner.Acquire(t.Context(), resources.Vector{1})
				done <- errors.Join(err, l.Release())
			}()
			<-r.Context().Done()
			http.Error(out, context.Cause(r.Context()).Error(), http.StatusTeapot)
		}))
		answer := w.serve(t.Context())
		require.Equal(t, http.StatusTeapot, answer.Code)
		require.Contains(t, answer.Body.String(), "preempted")
		require.NoError(t, <-done)
	})
}

// The answer names no other tenant and no machine: these are the affair of other clients.
func TestNew_TellsAClientNothingOfOthers(t *testing.T) {
	w := newWorld(t, nil)
	own := error(nil)
	admit, err := poolhttp.New(poolhttp.Config{Pool: w.pool, Ask: func(*http.Request) (string, pool.Request, error) {
		return "a", pool.Request{Needs: []resources.Vector{{1}}, MaxWait: 1}, own
	}})
	require.NoError(t, err)
	w.handler = admit(nil)
	held, ok := w.pool.TryAcquire("other", resources.Vector{1})
	require.True(t, ok)
	require.Equal(t, "Too Many Requests\n", w.serve(t.Context()).Body.String())
	own = errors.New("no such customer")
	require.Equal(t, "no such customer\n", w.serve(t.Context()).Body.String())
	require.NoError(t, held.Release())
}

func TestNew_ReleasesTheLeaseOfAPanic(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { w.serve(t.Context(), "Tenant", "a") })
	require.Zero(t, w.pool.Stats().Leases)
}

func TestNew_RefusesAConfigWithoutPoolOrAsk(t *testing.T) {
	for _, cfg := range []poolhttp.Config{{}, {Pool: newWorld(t, nil).pool}} {
		_, err := poolhttp.New(cfg)
		require.ErrorIs(t, err, pool.ErrConfig)
		require.EqualError(t, err, "poolhttp: Pool or Ask is nil, want both: pool: invalid configuration")
	}
}
