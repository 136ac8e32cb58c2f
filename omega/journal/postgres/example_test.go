package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/postgres"
	"github.com/cellsched/cellsched/resources"
)

// Each replica of a service runs this: all place work on the same machines.
func Example() { //nolint:testableexamples // it needs a server
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		slog.Error("connect", "error", err)
		return
	}
	defer pool.Close()
	store, err := postgres.Open(ctx, pool, "workers")
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
