package omega

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// age makes a machine's number look as if it had served so many machines before.
func age(c *Cell, node, generation uint32) MachineID {
	id := c.machine(node, generation)
	c.swap(node, func(old, next *version) bool {
		changed := *old.spec
		changed.id = id
		next.spec = &changed
		return true
	})
	c.machines.Store(load(c.words.at(node)).spec.Name, id)
	return id
}

// A number that has served as many machines as an ID can tell apart is retired. Else its
// next machine would have the ID of its first, or none.
func TestAdd_DoesNotReuseANumberWithoutGenerations(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1}}, {Name: "b", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	old := age(cell, 0, lastGeneration-1)
	_, err = cell.Remove(old)
	require.NoError(t, err)
	last, err := cell.Add(Machine{Name: "c", Capacity: resources.Vector{1}})
	require.NoError(t, err)
	require.Equal(t, "0.1048574", last.String())
	require.Greater(t, last, old)

	var id MachineID
	text, err := last.MarshalText()
	require.NoError(t, err)
	require.NoError(t, id.UnmarshalText(text))
	require.Equal(t, last, id)
	tx := Txn{}
	tx.Claim(Claim{Machine: last, Need: resources.Vector{1}})
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.NoError(t, cell.Check())

	_, err = cell.Remove(last)
	require.NoError(t, err)
	restored := func(cell *Cell) *Cell {
		var file bytes.Buffer
		require.NoError(t, cell.Save(&file))
		again, err := Restore(&file, nil)
		require.NoError(t, err)
		return again
	}
	for name, cell := range map[string]*Cell{"first": cell, "restored": restored(cell), "restored twice": restored(restored(cell))} {
		next, err := cell.Add(Machine{Name: "d", Capacity: resources.Vector{1}})
		require.NoError(t, err, name)
		require.Equal(t, cell.machine(2, 0), next, name)
		_, ok := cell.State(last)
		require.False(t, ok, name)
		require.NoError(t, cell.Check(), name)
	}
}
