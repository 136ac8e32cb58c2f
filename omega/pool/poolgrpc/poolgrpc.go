// Package poolgrpc admits calls of gRPC in the turns of a pool's tenants.
//
//	call ──► Ask: tenant, need ──► pool.Do ──► the handler, with a lease
//	             │                    │
//	      INVALID_ARGUMENT     RESOURCE_EXHAUSTED with RetryInfo: the queue is full,
//	                           or the wait too long
package poolgrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cellsched/cellsched/omega/pool"
)

// Config is the configuration of [Interceptors]. Pool and Ask are required.
type Config struct {
	// Pool admits the calls.
	Pool *pool.Pool
	// Ask returns the tenant of a call and what it asks of the pool, such as from the
	// metadata in ctx. The name comes from outside the program, so it should have a
	// prefix: see [pool.Pool.Acquire]. The method is the full one, such as
	// "/package.Service/Method". An error without a status is one of INVALID_ARGUMENT.
	Ask func(ctx context.Context, method string) (tenant string, ask pool.Request, err error)
	// Skip reports whether calls of a method pass without a lease, such as those of health
	// checks, which would otherwise fail where the pool is full, and of reflection. Nil: none.
	Skip func(method string) bool
	// Refuse returns the error of a call that is not served. It gets the status of
	// [Interceptors] and the error of the pool, which may name other tenants and machines.
	// Nil: the status, which names the tenant of the call alone.
	Refuse func(ctx context.Context, refused *status.Status, err error) error
}

// Interceptors admits the calls of a server: each waits for its tenant's turn before the
// handler is called. It is safe for concurrent use.
//
//	server := grpc.NewServer(grpc.UnaryInterceptor(in.Unary), grpc.StreamInterceptor(in.Stream))
//
// The handler finds the lease by [pool.Leases]. The context of the call ends when the
// lease is preempted. The lease is released when the handler returns or panics; that of
// a stream lasts as long as the stream. The status of a call that is not served:
//
//	RESOURCE_EXHAUSTED          the queue of the tenant is full, or the wait was too long;
//	                            RetryInfo tells when to call again
//	ABORTED                     the lease was preempted, and then the handler failed by
//	                            CANCELED, DEADLINE_EXCEEDED or without a status; RetryInfo
//	                            with 0: call again at once
//	UNAVAILABLE                 the pool is closed
//	CANCELED, DEADLINE_EXCEEDED  the context of the call has ended
//	INVALID_ARGUMENT            the tenant is invalid, or no machine could meet the need
type Interceptors struct{ cfg Config }

// New returns interceptors. Errors: [pool.ErrConfig] for a Config without Pool or Ask.
func New(cfg Config) (*Interceptors, error) {
	if cfg.Pool == nil || cfg.Ask == nil {
		return nil, fmt.Errorf("poolgrpc: Pool or Ask is nil, want both: %w", pool.ErrConfig)
	}
	if cfg.Refuse == nil {
		cfg.Refuse = func(_ context.Context, refused *status.Status, _ error) error { return refused.Err() }
	}
	return &Interceptors{cfg}, nil
}

// Unary is a [grpc.UnaryServerInterceptor].
func (in *Interceptors) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	err = in.admit(ctx, info.FullMethod, func(ctx context.Context) (err error) {
		resp, err = handler(ctx, req)
		return err
	})
	return resp, err
}

// Stream is a [grpc.StreamServerInterceptor].
func (in *Interceptors) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return in.admit(stream.Context(), info.FullMethod, func(ctx context.Context) error {
		return handler(srv, &admitted{stream, ctx})
	})
}

// admitted is a stream with the context of a lease.
type admitted struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // the interface asks for it
}

func (a *admitted) Context() context.Context { return a.ctx }

// admit calls fn with a lease, and returns the status of a call that is not served.
func (in *Interceptors) admit(ctx context.Context, method string, fn func(context.Context) error) error {
	if in == nil || in.cfg.Pool == nil {
		return status.Error(codes.Internal, "poolgrpc: the Interceptors are not from New: "+pool.ErrConfig.Error())
	}
	if in.cfg.Skip != nil && in.cfg.Skip(method) {
		return fn(ctx)
	}
	tenant, ask, err := in.cfg.Ask(ctx, method)
	if err != nil {
		if _, ok := status.FromError(err); ok {
			return err
		}
		return status.Error(codes.InvalidArgument, err.Error())
	}
	began := false
	var own error // of the handler
	err = in.cfg.Pool.Do(ctx, tenant, ask, func(ctx context.Context, _ []pool.Lease) error {
		began = true
		own = fn(ctx)
		return own
	})
	preempted := errors.Is(err, pool.ErrPreempted)
	switch {
	case began && !preempted:
		return err
	case preempted && isLastWord(own):
		return own
	}
	var refused *status.Status
	after, later := pool.RetryAfter(err)
	switch {
	case preempted:
		refused = retry(codes.Aborted, 0, fmt.Sprintf("the call of %q was preempted, call again", tenant))
	case errors.Is(err, pool.ErrClosed):
		refused = status.New(codes.Unavailable, "the pool is closed")
	case ctx.Err() != nil:
		refused = status.FromContextError(ctx.Err())
	case later:
		refused = retry(codes.ResourceExhausted, after, fmt.Sprintf("too many calls of %q, call again after %v", tenant, after.Round(time.Millisecond)))
	default:
		refused = status.Newf(codes.InvalidArgument, "the tenant %q is invalid, or its call could never be served", tenant)
	}
	return in.cfg.Refuse(ctx, refused, err)
}

// isLastWord reports whether a handler says by its status what becomes of the call. The
// end of its context, or an error without a status, may come from the preemption.
func isLastWord(err error) bool {
	s, ok := status.FromError(err)
	return ok && !slices.Contains([]codes.Code{codes.OK, codes.Canceled, codes.DeadlineExceeded, codes.Unknown}, s.Code())
}

// retry returns a status that tells when to call again.
func retry(code codes.Code, after time.Duration, text string) *status.Status {
	s := status.New(code, text)
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		return detailed
	}
	return s
}
