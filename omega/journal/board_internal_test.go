package journal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Notes that are decoded are those that were encoded, and no bytes make decoding panic. A
// checkpoint has the notes of the boards that it was made of.
func FuzzNotes(f *testing.F) {
	f.Add(encodeNotes("service", []Note{
		{Key: "a", Amount: resources.Vector{1, 1 << 62}, Need: resources.Vector{7: 3}},
		{Key: "b/c", Most: resources.Uniform(resources.MaxQuantity), Bounded: true},
	}))
	f.Add([]byte{1, 'b'})
	f.Add([]byte{1, 'b', 1, 'k', 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		name, notes, ok := decodeNotes(body)
		if !ok {
			return
		}
		again, same, ok := decodeNotes(encodeNotes(name, notes))
		require.True(t, ok)
		require.Equal(t, name, again)
		require.Equal(t, notes, same)
		s := state{sessions: map[Position]session{4: {number: 1}, 9: {number: 1}}}
		require.True(t, s.post(4, body))
		require.True(t, s.post(9, body))
		saved := s.saveBoards()
		restored := state{sessions: s.sessions}
		if err := restored.restoreBoards(saved); err != nil {
			for i := range notes {
				if notes[i].Key == "" { // Post refuses it
					return
				}
			}
			require.NoError(t, err)
		}
		require.Equal(t, saved, restored.saveBoards())
		s.unpost(4)
		s.unpost(9)
		require.Empty(t, s.saveBoards())
		if len(saved) > 0 {
			require.ErrorIs(t, (&state{sessions: s.sessions}).restoreBoards(saved[:len(saved)-1]), ErrDamaged)
		}
	})
}
