package etcd_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/etcd"
	"github.com/cellsched/cellsched/resources"
)

// Each replica of a service runs this: all place work on the same machines.
func Example() { //nolint:testableexamples // it needs a server
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:         []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"},
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		slog.Error("connect", "error", err)
		return
	}
	defer client.Close()
	store, err := etcd.Open(ctx, client, "/workers")
	if err != nil {
		slog.Error("open the journal", "error", err)
		return
	}
	cell, err := journal.Open(ctx, store, journal.Config{First: omega.Config{
		Machines: []omega.Machine{{Name: "node-1", Capacity: resources.Vector{4}}},
	}})
	if err != nil {
		slog.Error("open the cell", "error", err)
		return
	}
	defer func() { _ = cell.Close(ctx) }()

	replica, _ := os.Hostname()
	s, err := cell.Take(ctx, replica, omega.Limits{})
	if err != nil {
		slog.Error("take the scheduler", "error", err)
		return
	}
	m, _ := cell.Machine("node-1")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{3}})
	granted, err := s.CommitContext(ctx, &tx) // in every replica's copy once it returns nil
	fmt.Println(granted, err)
}
