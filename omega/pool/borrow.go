package pool

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
)

// completeCell checks and fills in the fields of a pool on a cell.
func (cfg *Config) completeCell() error {
	switch {
	case len(cfg.Machines) > 0:
		return refuse(ErrConfig, fmt.Sprintf("Machines: %d beside a Cell, want none", len(cfg.Machines)))
	case cfg.Space != nil && cfg.Space != cfg.Cell.Space():
		return refuse(ErrConfig, "Space: not that of the Cell")
	case cfg.Chunk < 0:
		return refuse(ErrConfig, fmt.Sprintf("Chunk: %d, want 0 or more", cfg.Chunk))
	case cfg.Scheduler != nil && cfg.Scheduler.Cell() != cfg.Cell:
		return refuse(ErrConfig, "Scheduler: not one of the Cell")
	case cfg.Scheduler != nil && !cfg.Scheduler.Limits().Divisible:
		return refuse(ErrConfig, fmt.Sprintf("Scheduler: %q is not Divisible: a claim would take a whole block", cfg.Scheduler.Name()))
	case cfg.Scheduler != nil && cfg.Scheduler.Limits().Jobs > 0:
		return refuse(ErrConfig, fmt.Sprintf("Scheduler: %q has a limit of jobs, and a pool has none", cfg.Scheduler.Name()))
	}
	cfg.Space = cfg.Cell.Space()
	if cfg.Chunk == 0 {
		cfg.Chunk = defaultChunk
	}
	if cfg.Scheduler == nil {
		s, err := cfg.Cell.Register("pool", omega.Limits{Divisible: true})
		if err != nil {
			return because(ErrConfig, "Scheduler", err)
		}
		cfg.Scheduler = s
	}
	if cfg.Account == "" {
		cfg.Account = cfg.Scheduler.Name()
	}
	return nil
}

// borrow makes the machines of a cell those of the pool.
func (p *Pool) borrow(cfg *Config) error {
	account, err := cfg.Cell.Account(context.Background(), cfg.Account)
	if err != nil {
		return because(ErrConfig, "Account", err)
	}
	limits := cfg.Scheduler.Limits()
	l := &lender{
		pool: p, blocks: blocks.New(cfg.Scheduler, cfg.Store), scheduler: cfg.Scheduler, chunk: int64(cfg.Chunk), account: account,
		lowest: limits.Lowest, highest: limits.Highest, byCharge: make(map[blocks.Charge]uint32),
	}
	l.number(blocks.Charge{Account: account, Precedence: limits.Lowest})
	p.lend = l
	ctx := context.Background()
	_, err = l.blocks.Sync(ctx, p.base)
	if err == nil {
		err = l.blocks.Unreserve(ctx, l.blocks.Reserved()) // of a predecessor
	}
	if err == nil {
		_, err = l.blocks.Sync(ctx, p.base)
	}
	if err != nil {
		return because(ErrConfig, "Scheduler", err)
	}
	for node := range l.blocks.Len() {
		p.learn(locality.Node(node))
		p.adopt(locality.Node(node))
	}
	return nil
}

// start starts the goroutines of a pool on a cell.
func (l *lender) start() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.heard.Add(1)
	go l.pool.listen(ctx)
	l.pool.mu.Lock()
	l.pool.markStock() // allocations of a predecessor
	l.pool.mu.Unlock()
	l.ending.Add(1)
	go l.pool.commitLoop()
}
