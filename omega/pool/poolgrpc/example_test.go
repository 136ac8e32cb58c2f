package poolgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolgrpc"
	"github.com/cellsched/cellsched/resources"
)

// Four calls run at a time, and the customers that their metadata name take turns. A
// call that has waited for half a second is told when to come again.
func Example() {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{4}}}})
	if err != nil {
		panic(err)
	}
	in, err := poolgrpc.New(poolgrpc.Config{
		Pool: p,
		Ask: func(ctx context.Context, _ string) (string, pool.Request, error) {
			customer := metadata.ValueFromIncomingContext(ctx, "customer")
			if len(customer) != 1 {
				return "", pool.Request{}, errors.New("no customer")
			}
			return "customer " + customer[0], pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second / 2}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(in.Unary), grpc.StreamInterceptor(in.Stream))
	defer server.Stop()

	// The server calls the interceptor as here.
	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs("customer", "7"))
	call := &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/List"}
	_, err = in.Unary(ctx, nil, call, func(ctx context.Context, _ any) (any, error) {
		for lease := range pool.Leases(ctx) {
			fmt.Println("runs on", lease.Machine())
		}
		return nil, nil
	})
	if err != nil {
		panic(err)
	}
	// Output: runs on slots
}
