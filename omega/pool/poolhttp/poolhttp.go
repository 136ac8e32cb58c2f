// Package poolhttp admits HTTP requests in the turns of a pool's tenants.
//
//	request ──► Ask: tenant, need ──► pool.Do ──► next handler, with a lease
//	                │                    │
//	               400              429, Retry-After: the queue is full, or the wait too long
package poolhttp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/cellsched/cellsched/omega/pool"
)

// Config is the configuration of a middleware. Pool and Ask are required.
type Config struct {
	// Pool admits the requests.
	Pool *pool.Pool
	// Ask returns the tenant of an HTTP request and what it asks of the pool. The name
	// comes from outside the program, so it should have a prefix: see [pool.Pool.Acquire].
	// An error is answered with 400.
	Ask func(*http.Request) (tenant string, ask pool.Request, err error)
	// Refuse answers a request that is not admitted. The status, and the header
	// Retry-After, are those of [New]. The error may name other tenants and machines. Nil:
	// the answer is the text of an error of Ask, and else that of the status.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err error)
}

// New returns a middleware, which admits each request in its tenant's turn before the
// next handler is called. The handler finds the lease by [pool.Leases]. The context of
// the request ends when the lease is preempted. The lease is released when the handler
// returns or panics.
//
//	400  Ask failed, or the pool could never meet the request: it has ended
//	429  the queue of the tenant is full, or the wait was too long: with Retry-After
//	503  the pool is closed, or the client has gone
//
// A handler is safe for concurrent use. Cost of an admitted request: that of
// [pool.Pool.Do], and a copy of the request. Errors: [pool.ErrConfig] for a Config
// without Pool or Ask.
func New(cfg Config) (func(next http.Handler) http.Handler, error) {
	if cfg.Pool == nil || cfg.Ask == nil {
		return nil, fmt.Errorf("poolhttp: Pool or Ask is nil, want both: %w", pool.ErrConfig)
	}
	failed := cfg.Refuse // of Ask
	if cfg.Refuse == nil {
		failed = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			http.Error(w, err.Error(), status)
		}
		cfg.Refuse = func(w http.ResponseWriter, _ *http.Request, status int, _ error) {
			http.Error(w, http.StatusText(status), status)
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tenant, ask, err := cfg.Ask(r)
			if err != nil {
				failed(w, r, http.StatusBadRequest, err)
				return
			}
			admitted := false
			err = cfg.Pool.Do(r.Context(), tenant, ask, func(ctx context.Context, _ []pool.Lease) error {
				admitted = true
				next.ServeHTTP(w, r.WithContext(ctx))
				return nil
			})
			if !admitted {
				cfg.refuse(w, r, err)
			}
		})
	}, nil
}

// refuse answers a request that the pool has refused.
func (cfg *Config) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadRequest
	if after, ok := pool.RetryAfter(err); ok {
		// Whole seconds, rounded up: the header knows no others.
		w.Header().Set("Retry-After", strconv.FormatInt(int64(math.Ceil(max(1, after.Seconds()))), 10))
		status = http.StatusTooManyRequests
	} else if errors.Is(err, pool.ErrClosed) || r.Context().Err() != nil {
		status = http.StatusServiceUnavailable
	}
	cfg.Refuse(w, r, status, err)
}
