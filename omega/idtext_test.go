package omega_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
)

func TestIDs_AreTextAndBack(t *testing.T) {
	cell, schedulers := fullCell(t)
	type kept struct {
		Machine omega.MachineID
		Tasks   map[omega.AllocationID]string
		None    omega.AllocationID
	}
	want := kept{Tasks: map[omega.AllocationID]string{}}
	for a := range cell.Allocations() {
		want.Tasks[a.ID] = a.Scheduler
	}
	for m := range schedulers[0].Marked() {
		want.Tasks[m.Allocation.ID] = "marked"
	}
	want.Machine, _ = cell.Machine("c") // of a second generation
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.Regexp(t, `"Machine":"[0-9a-f]{6}/4\.1"`, string(text))
	var got kept
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
	require.Greater(t, len(got.Tasks), 5)
}

func TestIDs_RefuseOtherText(t *testing.T) {
	for _, text := range []string{
		"/", "0/0/2", "00c0de/7/0", "00c0de/7/0/42/1", "c0de/7/0/42", "00C0DE/7/0/42", "1000000/7/0/42",
		"00c0de/07/0/42", "00c0de/+7/0/42", "00c0de/1048576/0/42", "00c0de/7/1048576/42",
		"00c0de/7/0/4611686018427387904", " 00c0de/7/0/42", "00c0de/7/0/", "000000/0/0/0", "00c0de/7/-1/42",
	} {
		var id omega.AllocationID
		require.NoError(t, id.UnmarshalText([]byte("00c0de/1/2/3")))
		before := id
		require.ErrorIs(t, id.UnmarshalText([]byte(text)), omega.ErrID, text)
		require.Equal(t, before, id)
	}
	for _, text := range []string{
		"none", "7", "00c0de", "00c0de/", "00c0de/7.none", "/7", "00c0de/.", "00c0de/1.", "00c0de/1.0", "00c0de/01", "00c0de/+1",
		"00c0de/1.01", "00c0de/1048576", "00c0de/1.1048575", "00c0de/1.1048576", "00c0de/1.2.3", "00c0de/a", " 00c0de/1", "00c0de/ 1",
		"00c0de/-1", "c0de/7", "00C0DE/7", "1000000/7", "00c0de/7/0", "00c0de/7/0/42",
	} {
		var id omega.MachineID
		require.NoError(t, id.UnmarshalText([]byte("00c0de/9.3")))
		before := id
		require.ErrorIs(t, id.UnmarshalText([]byte(text)), omega.ErrID, text)
		require.Equal(t, before, id)
	}
}

func FuzzAllocationIDText(f *testing.F) {
	for _, text := range []string{"", "00c0de/7/0/42", "ffffff/1048575/1048575/4611686018427387903"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var id omega.AllocationID
		if err := id.UnmarshalText([]byte(text)); err != nil {
			require.ErrorIs(t, err, omega.ErrID)
			return
		}
		again, err := id.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(again))
	})
}
