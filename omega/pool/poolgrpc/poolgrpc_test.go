package poolgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolgrpc"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tenantOf asks for a slot for the tenant that the metadata name.
func tenantOf(ctx context.Context, method string) (string, pool.Request, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	name := append(md.Get("tenant"), "")[0]
	switch name {
	case "unknown":
		return "", pool.Request{}, errors.New("no such tenant")
	case "banned":
		return "", pool.Request{}, status.Error(codes.PermissionDenied, "banned from "+method)
	case "large":
		return name, pool.Request{Needs: []resources.Vector{{2}}}, nil
	}
	return name, pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, nil
}

// service answers health checks; check is called by each.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	check func(context.Context) error
}

func (s *service) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, s.check(ctx)
}

func (s *service) Watch(_ *grpc_health_v1.HealthCheckRequest, out grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	if err := out.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
		return err
	}
	return s.check(out.Context())
}

// world is a client and a server with a pool of one slot between them.
type world struct {
	pool    *pool.Pool
	service *service
	client  grpc_health_v1.HealthClient
	close   func()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "server", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	in, err := poolgrpc.New(poolgrpc.Config{Pool: p, Ask: tenantOf})
	require.NoError(t, err)
	w := &world{pool: p, service: &service{check: func(context.Context) error { return nil }}}
	server := grpc.NewServer(grpc.UnaryInterceptor(in.Unary), grpc.StreamInterceptor(in.Stream))
	grpc_health_v1.RegisterHealthServer(server, w.service)
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///pool", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	w.client = grpc_health_v1.NewHealthClient(conn)
	w.close = sync.OnceFunc(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-served)
	})
	t.Cleanup(w.close)
	return w
}

func (w *world) call(ctx context.Context, tenant string) error {
	_, err := w.client.Check(metadata.AppendToOutgoingContext(ctx, "tenant", tenant), &grpc_health_v1.HealthCheckRequest{})
	return err
}

// retryOf returns the time of the RetryInfo in a status.
func retryOf(err error) (time.Duration, bool) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

func TestUnary_CallsTheHandlerWithALease(t *testing.T) {
	w := newWorld(t)
	w.service.check = func(ctx context.Context) error {
		if n := len(slices.Collect(pool.Leases(ctx))); n != 1 {
			return status.Errorf(codes.Internal, "%d leases", n)
		}
		return nil
	}
	require.NoError(t, w.call(t.Context(), "a"))
	w.service.check = func(context.Context) error { return status.Error(codes.DataLoss, "mine") }
	require.Equal(t, codes.DataLoss, status.Code(w.call(t.Context(), "a")))
	require.Zero(t, w.pool.Stats().Leases)
}

func TestUnary_TellsWhyACallIsNotServed(t *testing.T) {
	w := newWorld(t)
	held, ok := w.pool.TryAcquire("other", resources.Vector{1})
	require.True(t, ok)
	err := w.call(t.Context(), "a") // waits for a second
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	after, ok := retryOf(err)
	require.True(t, ok)
	require.GreaterOrEqual(t, after, time.Second)

	require.Equal(t, codes.InvalidArgument, status.Code(w.call(t.Context(), "unknown")))
	require.Equal(t, codes.InvalidArgument, status.Code(w.call(t.Context(), "large")))
	require.Equal(t, codes.InvalidArgument, status.Code(w.call(t.Context(), "")))
	err = w.call(t.Context(), "banned")
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	require.ErrorContains(t, err, "banned from /grpc.health.v1.Health/Check")
	require.NoError(t, held.Release())

	require.NoError(t, w.pool.Close(t.Context()))
	require.Equal(t, codes.Unavailable, status.Code(w.call(t.Context(), "a")))
}

func TestUnary_EndsWithTheContextOfTheCall(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "server", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	in, err := poolgrpc.New(poolgrpc.Config{Pool: p, Ask: func(context.Context, string) (string, pool.Request, error) {
		return "a", pool.Request{Needs: []resources.Vector{{1}}}, nil
	}})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		held, ok := p.TryAcquire("other", resources.Vector{1})
		require.True(t, ok)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := in.Unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("not called") })
		require.Equal(t, codes.DeadlineExceeded, status.Code(err))
		_, found := retryOf(err)
		require.False(t, found)
		require.NoError(t, held.Release())
	})
}

func TestUnary_AbortsAHandlerThatIsPreempted(t *testing.T) {
	w := newWorld(t)
	owner, err := w.pool.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
	require.NoError(t, err)
	granted := make(chan error)
	w.service.check = func(ctx context.Context) error {
		go func() {
			granted <- owner.Do(context.Background(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
		}()
		<-ctx.Done()
		return ctx.Err()
	}
	err = w.call(t.Context(), "a")
	require.Equal(t, codes.Aborted, status.Code(err))
	after, ok := retryOf(err)
	require.True(t, ok)
	require.Zero(t, after)
	require.NoError(t, <-granted)
}

// A handler that says by its status what becomes of the call is believed, also after it was
// preempted.
func TestUnary_ReturnsTheLastWordOfAPreemptedHandler(t *testing.T) {
	for own, want := range map[error]codes.Code{
		status.Error(codes.NotFound, "mine"):                            codes.NotFound,
		fmt.Errorf("wrapped: %w", status.Error(codes.DataLoss, "mine")): codes.DataLoss,
		status.Error(codes.Canceled, "the context"):                     codes.Aborted,
		status.Error(codes.DeadlineExceeded, "the context"):             codes.Aborted,
		errors.New("mine"): codes.Aborted,
	} {
		w := newWorld(t)
		owner, err := w.pool.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
		require.NoError(t, err)
		granted := make(chan error)
		w.service.check = func(ctx context.Context) error {
			go func() {
				granted <- owner.Do(context.Background(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
			}()
			<-ctx.Done()
			return own
		}
		require.Equal(t, want, status.Code(w.call(t.Context(), "a")), "%v", own)
		require.NoError(t, <-granted)
	}
}

// A call of a method to skip passes a full pool, without a lease and without a tenant.
func TestInterceptors_LetMethodsToSkipPass(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "server", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	held, ok := p.TryAcquire("other", resources.Vector{1})
	require.True(t, ok)
	var asked []string
	in, err := poolgrpc.New(poolgrpc.Config{
		Pool: p,
		Ask: func(_ context.Context, method string) (string, pool.Request, error) {
			asked = append(asked, method)
			return "", pool.Request{}, status.Error(codes.PermissionDenied, "asked")
		},
		Skip: func(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") },
	})
	require.NoError(t, err)
	for method, want := range map[string]codes.Code{
		"/grpc.health.v1.Health/Check": codes.DataLoss, "/shop.Orders/List": codes.PermissionDenied,
	} {
		_, err = in.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
			require.Empty(t, slices.Collect(pool.Leases(ctx)))
			return nil, status.Error(codes.DataLoss, "mine")
		})
		require.Equal(t, want, status.Code(err), method)
		err = in.Stream(nil, &stream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: method}, func(any, grpc.ServerStream) error {
			return status.Error(codes.DataLoss, "mine")
		})
		require.Equal(t, want, status.Code(err), method)
	}
	require.Equal(t, []string{"/shop.Orders/List", "/shop.Orders/List"}, asked, "the method of the call and of the stream")
	require.NoError(t, held.Release())
}

// stream is a server's stream with a context.
type stream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // the interface asks for it
}

func (s *stream) Context() context.Context { return s.ctx }

// A stream holds its lease until it ends.
func TestStream_HoldsALeaseAsLongAsItLasts(t *testing.T) {
	w := newWorld(t)
	end := make(chan struct{})
	w.service.check = func(ctx context.Context) error {
		<-end
		if n := len(slices.Collect(pool.Leases(ctx))); n != 1 {
			return status.Errorf(codes.Internal, "%d leases", n)
		}
		return nil
	}
	stream, err := w.client.Watch(metadata.AppendToOutgoingContext(t.Context(), "tenant", "a"), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.Equal(t, 1, w.pool.Stats().Leases)
	close(end)
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	w.close() // the handler has returned
	require.Zero(t, w.pool.Stats().Leases)

	w = newWorld(t)
	stream, err = w.client.Watch(metadata.AppendToOutgoingContext(t.Context(), "tenant", "unknown"), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestNew_RefusesAConfigWithoutPoolOrAsk(t *testing.T) {
	for _, cfg := range []poolgrpc.Config{{Ask: tenantOf}, {Pool: newWorld(t).pool}} {
		_, err := poolgrpc.New(cfg)
		require.ErrorIs(t, err, pool.ErrConfig)
		require.EqualError(t, err, "poolgrpc: Pool or Ask is nil, want both: pool: invalid configuration")
	}
}

func TestUnary_FailsWithoutNew(t *testing.T) {
	for _, in := range []*poolgrpc.Interceptors{nil, {}} {
		_, err := in.Unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("not called") })
		require.Equal(t, codes.Internal, status.Code(err))
		require.ErrorContains(t, err, "poolgrpc: the Interceptors are not from New: pool: invalid configuration")
	}
}

// The status names no tenant but that of the call, and no machine: these are the affair of
// other clients. Refuse gets all.
func TestUnary_TellsAClientNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	owner, err := w.pool.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
	require.NoError(t, err)
	held, err := owner.Acquire(t.Context(), resources.Vector{1})
	require.NoError(t, err)
	var whole error
	talkative, err := poolgrpc.New(poolgrpc.Config{Pool: w.pool, Ask: tenantOf, Refuse: func(_ context.Context, s *status.Status, err error) error {
		whole = err
		return status.Error(s.Code(), err.Error())
	}})
	require.NoError(t, err)
	for tenant, want := range map[string]string{
		"a":     `too many calls of "a", call again after `,
		"large": `the tenant "large" is invalid, or its call could never be served`,
	} {
		text := status.Convert(w.call(t.Context(), tenant)).Message()
		require.Contains(t, text, want)
		require.NotContains(t, text, "owner")
		require.NotContains(t, text, "server")
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("tenant", tenant))
		_, err = talkative.Unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("not called") })
		require.NotContains(t, whole.Error(), want)
		require.Equal(t, whole.Error(), status.Convert(err).Message())
	}
	require.NoError(t, held.Release())
}

// BenchmarkUnary measures a call that does nothing, without gRPC around it.
func BenchmarkUnary(b *testing.B) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "server", Capacity: resources.Vector{1}}}})
	require.NoError(b, err)
	in, err := poolgrpc.New(poolgrpc.Config{Pool: p, Ask: tenantOf})
	require.NoError(b, err)
	ctx := metadata.NewIncomingContext(b.Context(), metadata.Pairs("tenant", "a"))
	info := &grpc.UnaryServerInfo{FullMethod: "/a/b"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Unary(ctx, nil, info, func(context.Context, any) (any, error) { return nil, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
