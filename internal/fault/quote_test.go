package fault_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/fault"
)

type (
	named  string
	spoken struct{ text string }
)

func (s spoken) String() string { return s.text }

func TestQuote_ShowsTheBeginningOfALongName(t *testing.T) {
	for name, want := range map[string]string{
		"": `""`, "a": `"a"`, "a\"\n": `"a\"\n"`,
		strings.Repeat("ä", 64):       `"` + strings.Repeat("ä", 64) + `"`,
		strings.Repeat("ä", 65):       `"` + strings.Repeat("ä", 64) + `"...`,
		strings.Repeat("\x00", 1<<20): `"` + strings.Repeat(`\x00`, 64) + `"...`,
	} {
		require.Equal(t, want, fault.Quote(name))
		require.Equal(t, want, fault.Key(name))
		require.Equal(t, want, fault.Key(named(name)))
	}
}

func TestKey_IsBoundedWhateverItsType(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, key := range []any{long, named(long), spoken{long}, &spoken{long}, [2]string{long, long}, struct{ A, B string }{long, long}, any(named(long))} {
		text := fault.Key(key)
		require.Less(t, len(text), 80, "%T", key)
		require.Contains(t, text, "...")
	}
	ch, p := make(chan int), new(int)
	for want, key := range map[string]any{
		"7": 7, "{1 2}": struct{ a, b int }{1, 2}, "said": spoken{"said"}, "chan int": ch, "*int": p, "<nil>": nil,
	} {
		require.Equal(t, want, fault.Key(key))
	}
	require.True(t, fault.Opaque(ch))
	require.True(t, fault.Opaque(p))
	require.False(t, fault.Opaque(&spoken{}))
	require.False(t, fault.Opaque(7))
}

func TestList_ShowsTheBeginning(t *testing.T) {
	require.Equal(t, "[a b]", fault.List(fmt.Sprint([]string{"a", "b"})))
	require.Equal(t, strings.Repeat("y", 160), fault.List(strings.Repeat("y", 160)))
	require.Equal(t, strings.Repeat("y", 160)+"...", fault.List(strings.Repeat("y", 161)))
}
