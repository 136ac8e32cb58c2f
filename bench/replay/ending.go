package main

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// ending is when tasks of one bundle end that started together.
type ending struct {
	at    time.Time
	seq   int // among equals, what started first ends first
	round int // in which they started
	b     *bundle
	ids   []omega.AllocationID
}

// endings is a heap of them, the next first.
type endings []*ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(v any)   { *e = append(*e, v.(*ending)) }
func (e *endings) Pop() any {
	old := *e
	v := old[len(old)-1]
	old[len(old)-1] = nil
	*e = old[:len(old)-1]
	return v
}

func (e *endings) add(v *ending) { heap.Push(e, v) }
func (e *endings) take() *ending { return heap.Pop(e).(*ending) }
