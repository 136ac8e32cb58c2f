// Package memcell is a cell kept in hashicorp/go-memdb, the in-memory database
// of immutable radix trees that Nomad and Consul keep their state in.
//
// Transactions, snapshots and rollback come with it; every claim pays for the
// nodes on the way to its leaves. Machines are indexed by free cpu, so best fit
// by cpu begins at the first that has enough of it.
package memcell

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-memdb"
)

// ErrReleased reports that the allocation of a release is unknown, or was released
// before.
var ErrReleased = errors.New("memcell: allocation is not live")

// Machine is one row of the table of machines. Rows are immutable.
type Machine struct {
	ID               int
	CPU, Memory, GPU int64 // free
}

// allocation is one row of the table of allocations.
type allocation struct {
	ID, Machine      int
	CPU, Memory, GPU int64
}

const (
	machines    = "machine"
	allocations = "allocation"
	byID        = "id"
	byCPU       = "cpu"
)

var schema = &memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
	machines: {Name: machines, Indexes: map[string]*memdb.IndexSchema{
		byID:  {Name: byID, Unique: true, Indexer: &memdb.IntFieldIndex{Field: "ID"}},
		byCPU: {Name: byCPU, Indexer: &memdb.IntFieldIndex{Field: "CPU"}},
	}},
	allocations: {Name: allocations, Indexes: map[string]*memdb.IndexSchema{
		byID: {Name: byID, Unique: true, Indexer: &memdb.IntFieldIndex{Field: "ID"}},
	}},
}}

// Cell is machines and allocations in one database. One transaction writes at
// a time; others wait. It is not safe for concurrent use all the same, because
// it numbers the allocations.
type Cell struct {
	db   *memdb.MemDB
	last int
}

// New returns a cell with the given machines.
func New(rows []Machine) (*Cell, error) {
	db, err := memdb.NewMemDB(schema)
	if err != nil {
		return nil, fmt.Errorf("memcell: %w", err)
	}
	tx := db.Txn(true)
	defer tx.Abort()
	for i := range rows {
		if err := tx.Insert(machines, &rows[i]); err != nil {
			return nil, fmt.Errorf("memcell: machine %d: %w", rows[i].ID, err)
		}
	}
	tx.Commit()
	return &Cell{db: db}, nil
}

// Claim takes the needed room on the machine with the least free cpu on which
// it fits, in a transaction of its own, and returns the allocation's number.
// It returns 0 if it fits nowhere.
func (c *Cell) Claim(cpu, memory, gpu int64) (int, error) {
	tx := c.db.Txn(true)
	defer tx.Abort()
	it, err := tx.LowerBound(machines, byCPU, cpu)
	if err != nil {
		return 0, fmt.Errorf("memcell: claim: %w", err)
	}
	for row := it.Next(); row != nil; row = it.Next() {
		m := *row.(*Machine)
		if m.CPU < cpu || m.Memory < memory || m.GPU < gpu {
			continue
		}
		m.CPU, m.Memory, m.GPU = m.CPU-cpu, m.Memory-memory, m.GPU-gpu
		a := &allocation{c.last + 1, m.ID, cpu, memory, gpu}
		if err := errors.Join(tx.Insert(machines, &m), tx.Insert(allocations, a)); err != nil {
			return 0, fmt.Errorf("memcell: claim: %w", err)
		}
		tx.Commit()
		c.last++
		return a.ID, nil
	}
	return 0, nil
}

// Release gives an allocation back, in a transaction of its own. Errors:
// [ErrReleased].
func (c *Cell) Release(id int) error {
	tx := c.db.Txn(true)
	defer tx.Abort()
	row, err := tx.First(allocations, byID, id)
	if err != nil {
		return fmt.Errorf("memcell: release: %w", err)
	}
	if row == nil {
		return ErrReleased
	}
	a := row.(*allocation)
	row, err = tx.First(machines, byID, a.Machine)
	if err != nil {
		return fmt.Errorf("memcell: release: %w", err)
	}
	m := *row.(*Machine)
	m.CPU, m.Memory, m.GPU = m.CPU+a.CPU, m.Memory+a.Memory, m.GPU+a.GPU
	if err := errors.Join(tx.Insert(machines, &m), tx.Delete(allocations, a)); err != nil {
		return fmt.Errorf("memcell: release: %w", err)
	}
	tx.Commit()
	return nil
}

// Free returns the room that is left on a machine.
func (c *Cell) Free(machine int) (Machine, error) {
	row, err := c.db.Txn(false).First(machines, byID, machine)
	if err != nil || row == nil {
		return Machine{}, fmt.Errorf("memcell: machine %d: %w", machine, err)
	}
	return *row.(*Machine), nil
}
