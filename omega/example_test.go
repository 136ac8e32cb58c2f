package omega_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// exampleCell returns a cell of two machines with 4 CPU and 8 GiB each.
func exampleCell() (*omega.Cell, *resources.Space) {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	if err != nil {
		panic(err)
	}
	capacity, err := space.Parse("cpu=4,memory=8Gi")
	if err != nil {
		panic(err)
	}
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{
		{Name: "node-0", Capacity: capacity},
		{Name: "node-1", Capacity: capacity},
	}})
	if err != nil {
		panic(err)
	}
	return cell, space
}

// Two schedulers looked at the same room. The first to commit gets it. The other is told
// its need and the room that was left, looks again, and is placed elsewhere.
func ExampleScheduler_Commit() {
	cell, space := exampleCell()
	need, _ := space.Parse("cpu=3,memory=2Gi")

	for _, name := range []string{"batch", "service"} {
		s, _ := cell.Register(name, omega.Limits{})
		account, _ := cell.Account(context.Background(), name)
		// Both place on node-0, as if neither had seen the other's claim.
		node0, _ := cell.Machine("node-0")
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: node0, Account: account, Need: need})
		for {
			granted, err := s.Commit(&tx)
			if err != nil {
				panic(err)
			}
			if granted == 1 {
				a, _ := tx.Allocation(0)
				fmt.Println(name, "runs on node", a.Node())
				break
			}
			fmt.Println(name, "-", tx.Err(0))

			snap := s.Snapshot()
			snap.Refresh(time.Time{})
			m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit())
			if !ok {
				fmt.Println(name, "waits")
				break
			}
			tx.Reset()
			tx.Claim(omega.Claim{Machine: m, Account: account, Need: need})
		}
	}
	// Output:
	// batch runs on node 0
	// service - omega: claim on "node-0": need cpu=3,memory=2Gi, free cpu=1,memory=6Gi: conflict
	// service runs on node 1
}

// A gang is granted whole or not at all, in one atomic step over all machines.
func ExampleTxn_gang() {
	cell, space := exampleCell()
	s, _ := cell.Register("gangs", omega.Limits{})
	for _, text := range []string{"cpu=5", "cpu=4"} {
		need, _ := space.Parse(text)
		tx := omega.Txn{Gang: true}
		half, _ := space.Parse("cpu=2")
		for m := range cell.Machines() {
			tx.Claim(omega.Claim{Machine: m.ID, Need: half})
			half = need // the second machine is asked for more
		}
		granted, _ := s.Commit(&tx)
		fmt.Println(text, "- granted", granted, "of", tx.Len(), "- gang refused:", errors.Is(tx.Err(0), omega.ErrGang))
	}
	// Output:
	// cpu=5 - granted 0 of 2 - gang refused: true
	// cpu=4 - granted 2 of 2 - gang refused: false
}

// A scheduler plans a whole job on its private snapshot before it commits: room that it
// has taken there is not offered to it again.
func ExampleSnapshot_Find() {
	cell, space := exampleCell()
	s, _ := cell.Register("planner", omega.Limits{})
	need, _ := space.Parse("cpu=1500m,memory=1Gi")

	snap := s.Snapshot()
	var tx omega.Txn
	for {
		m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit())
		if !ok || !snap.Take(m, need) {
			break
		}
		tx.Claim(omega.Claim{Machine: m, Need: need})
	}
	granted, err := s.Commit(&tx)
	if err != nil {
		panic(err)
	}
	fmt.Println("granted", granted)
	for m := range cell.Machines() {
		fmt.Println(m.Name, "has", m.Live, "allocations and", space.Format(m.Free), "free")
	}
	// Output:
	// granted 4
	// node-0 has 2 allocations and cpu=1,memory=6Gi free
	// node-1 has 2 allocations and cpu=1,memory=6Gi free
}

// A drained machine keeps its allocations and takes no new ones. A removed machine is
// gone, and Remove returns the lost allocations.
func ExampleCell_Remove() {
	cell, space := exampleCell()
	s, _ := cell.Register("batch", omega.Limits{})
	need, _ := space.Parse("cpu=1")
	node0, _ := cell.Machine("node-0")
	ads, _ := cell.Account(context.Background(), "ads")

	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Account: ads, Need: need})
	if _, err := s.Commit(&tx); err != nil {
		panic(err)
	}
	if err := cell.Drain(node0); err != nil {
		panic(err)
	}
	tx.Reset()
	tx.Claim(omega.Claim{Machine: node0, Need: need})
	if _, err := s.Commit(&tx); err != nil {
		panic(err)
	}
	fmt.Println(tx.Err(0))

	if _, err := cell.Remove(node0); err != nil {
		panic(err)
	}
	for m := range s.Marked() { // until it is released
		account, _ := cell.AccountName(m.Allocation.Account)
		fmt.Println(m.Fate, space.Format(m.Allocation.Need), "of", account)
		fmt.Println(s.Release(m.Allocation.ID))
		fmt.Println(s.Release(m.Allocation.ID))
	}
	// Output:
	// omega: claim on "node-0": machine is draining
	// lost cpu=1 of ads
	// <nil>
	// omega: release of allocation 0/0/2: allocation is unknown or already released
}
