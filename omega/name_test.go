package omega_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// unprintable are names that a cell takes for nothing, by a part of the error.
var unprintable = map[string]string{
	"": "it is empty", "a\x00": `"a\x00" has U+0000 at byte 1`, "a\nb": `"a\nb" has U+000A`, "\xffa": `"\xffa" has byte 0xff at 0`,
	strings.Repeat("x", 257): "has 257 bytes, want at most 256", strings.Repeat("x", 1<<20): "has 1048576 bytes",
}

func TestNames_ThatAreNotTextAreRefused(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	s := register(t, cell, "s")
	first := map[string]string{"arch": "arm"}
	require.NoError(t, cell.SetAttributes(ids[0], first))
	for name, text := range unprintable {
		add := func(m omega.Machine) error {
			_, err := cell.Add(m)
			_, ofNew := omega.NewCell(omega.Config{Machines: []omega.Machine{m}})
			require.EqualError(t, ofNew, err.Error())
			return err
		}
		_, register := cell.Register(name, omega.Limits{})
		_, deputy := s.Deputy(name, omega.Limits{})
		_, account := cell.Account(t.Context(), name)
		if name == "" {
			require.NoError(t, account, "the empty name is that of the zero account")
		}
		for what, err := range map[string]error{
			"machine: ":                             add(omega.Machine{Name: name}),
			`machine "b": attribute: `:              add(omega.Machine{Name: "b", Attributes: map[string]string{name: "1"}}),
			`machine "b": value of attribute "k": `: add(omega.Machine{Name: "b", Attributes: map[string]string{"k": name, "l": "\x00"}}),
			"machine 0: attribute: ":                cell.SetAttributes(ids[0], map[string]string{name: ""}),
			`machine 0: value of attribute "k": `:   cell.SetAttributes(ids[0], map[string]string{"a": "", "k": name, "l": "\x00"}),
			"scheduler: ":                           register,
			"scheduler:  ":                          deputy,
			"account: ":                             account,
		} {
			if name == "" && strings.Contains(what, "value of attribute") {
				require.ErrorContains(t, err, `"l"`, "a value may be empty")
				continue
			}
			if name == "" && what == "account: " {
				continue
			}
			require.ErrorIs(t, err, omega.ErrName, what)
			require.ErrorIs(t, err, resources.ErrName, what)
			require.ErrorContains(t, err, "omega: "+strings.TrimSpace(what)+" invalid name: ")
			require.ErrorContains(t, err, text)
			require.Less(t, len(err.Error()), 200)
			require.Equal(t, 1, strings.Count(err.Error(), "omega: "))
		}
	}
	state, ok := cell.State(ids[0])
	require.True(t, ok)
	require.Equal(t, first, state.Attributes)
	require.NoError(t, cell.SetAttributes(ids[0], map[string]string{"there": ""}))
	require.NoError(t, cell.SetAttributes(ids[0], nil))
	_, err := cell.Add(omega.Machine{Name: "東京 1"})
	require.NoError(t, err)
	require.NoError(t, cell.Check())
}
