package resources_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

func TestCheckName(t *testing.T) {
	long := strings.Repeat("n", resources.MaxName)
	for _, name := range []string{
		"a", "node-0", "rack 7", "a/b:c,d=e;f", "\"quoted\" \\ 'name'", "Zürich", "東京", "e\u0301", "🚀", "\uFFFD", " ", long, strings.Repeat("é", 128),
	} {
		require.NoError(t, resources.CheckName(name), "%q", name)
	}
	for text, name := range map[string]string{
		`it is empty, want 1 to 256 bytes`:                                     "",
		`"a\x00b" has U+0000 at byte 1, want printable characters`:             "a\x00b",
		`"a\nb" has U+000A at byte 1`:                                          "a\nb",
		`"a\tb" has U+0009 at byte 1`:                                          "a\tb",
		`"\x7f" has U+007F at byte 0`:                                          "\x7f",
		`"é\u0085" has U+0085 at byte 2`:                                       "é\u0085",
		`"a\u00a0b" has U+00A0 at byte 1`:                                      "a\u00a0b",
		`"a\u200bb" has U+200B at byte 1`:                                      "a\u200bb",
		`"a\u202eb" has U+202E at byte 1`:                                      "a\u202eb",
		`"a\u2028" has U+2028 at byte 1`:                                       "a\u2028",
		`"\ufeffa" has U+FEFF at byte 0`:                                       "\ufeffa",
		`"ab\xff" has byte 0xff at 2, want valid UTF-8`:                        "ab\xff",
		`"\xed\xa0\x80" has byte 0xed at 0`:                                    "\xed\xa0\x80", // half of a surrogate pair
		`"\xc0\x80" has byte 0xc0 at 0`:                                        "\xc0\x80",     // NUL, too long
		`"\xe6\x9d" has byte 0xe6 at 0`:                                        "\xe6\x9d",     // cut off
		`"` + long[:64] + `"... has 257 bytes, want at most 256`:               long + "n",
		`"` + strings.Repeat("é", 64) + `"... has 258 bytes, want at most 256`: strings.Repeat("é", 129),
	} {
		err := resources.CheckName(name)
		require.ErrorIs(t, err, resources.ErrName)
		require.ErrorContains(t, err, "resources: invalid name: "+text)
	}
}

func TestCheckName_ShowsAPrefixOfALongName(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\xff", 1<<20), strings.Repeat("\x00", 200), strings.Repeat("🚀", 1<<18)} {
		err := resources.CheckName(name)
		require.ErrorIs(t, err, resources.ErrName)
		require.Less(t, len(err.Error()), 400)
	}
}

func TestCheckName_AcceptsPrintableNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "name")
		want := name != "" && len(name) <= resources.MaxName && utf8.ValidString(name)
		for _, c := range name {
			want = want && unicode.IsPrint(c)
		}
		require.Equal(t, want, resources.CheckName(name) == nil, "%q", name)
		require.Zero(t, testing.AllocsPerRun(1, func() {
			if want {
				_ = resources.CheckName(name)
			}
		}))
	})
}
