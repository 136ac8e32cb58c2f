package resources_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

func newSpace(t require.TestingT, dims ...resources.Dimension) *resources.Space {
	s, err := resources.NewSpace(dims...)
	require.NoError(t, err)
	return s
}

// usual is {cpu, memory, gpu}.
func usual(t require.TestingT) *resources.Space {
	return newSpace(t, resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu"})
}

// spaces draws any space that NewSpace takes.
var spaces = rapid.Custom(func(t *rapid.T) *resources.Space {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9._/-]{1,6}`).Filter(func(name string) bool {
		return !strings.HasPrefix(name, "kind")
	}), 1, resources.MaxKinds, rapid.ID).Draw(t, "names")
	var dims []resources.Dimension
	for _, name := range names {
		unit := int64(1)
		for range rapid.IntRange(0, 62).Draw(t, "twos") {
			unit *= 2
		}
		for range rapid.IntRange(0, 26).Draw(t, "fives") {
			if unit <= most/5 {
				unit *= 5
			}
		}
		unit = rapid.SampledFrom([]int64{0, 1, 1000, 1e9, 1024, unit}).Draw(t, "unit")
		dims = append(dims, resources.Dimension{Name: name, PerUnit: unit, Binary: rapid.Bool().Draw(t, "binary")})
	}
	return newSpace(t, dims...)
})

// within draws a valid vector of kinds that s names.
func within(t *rapid.T, s *resources.Space) resources.Vector {
	v := valid.Draw(t, "vector")
	for k := s.Kinds(); k < resources.MaxKinds; k++ {
		v[k] = 0
	}
	return v
}

func TestSpace_FormatRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces.Draw(t, "space")
		v := within(t, s)

		text := s.Format(v)
		got, err := s.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, v, got, text)
		require.Equal(t, text, s.Format(got))
	})
}

func TestSpace_LongestTextRoundTrips(t *testing.T) {
	for _, unit := range []int64{1, most, 1490116119384765625 /* 5^26 */} {
		var dims []resources.Dimension
		var v resources.Vector
		for k := range v {
			dims = append(dims, resources.Dimension{Name: strings.Repeat(string(rune('a'+k)), resources.MaxName), PerUnit: unit})
			v[k] = most - 1
		}
		s := newSpace(t, dims...)
		got, err := s.Parse(s.Format(v))
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
}

func TestSpace_FormatTakesTheLargestSuffixThatDivides(t *testing.T) {
	s := newSpace(t, resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu"},
		resources.Dimension{Name: "nano", PerUnit: 1e9}, resources.Dimension{Name: "pico", PerUnit: 1e12},
		resources.Dimension{Name: "page", PerUnit: 4096, Binary: true})
	tests := map[string]resources.Vector{
		"0":                          {},
		"cpu=500m":                   {500},
		"cpu=1500m":                  {1500},
		"cpu=2":                      {2000},
		"cpu=2k":                     {2000000},
		"cpu=1500":                   {1500000},
		"memory=1":                   {0, 1},
		"memory=1000":                {0, 1000},
		"memory=1Ki":                 {0, 1024},
		"memory=1536Mi":              {0, 1536 << 20},
		"memory=2Gi":                 {0, 2 << 30},
		"memory=4Ei":                 {0, most},
		"gpu=1":                      {2: 1},
		"gpu=1024":                   {2: 1024},
		"gpu=12k":                    {2: 12000},
		"gpu=3E":                     {2: 3e18},
		"nano=1n":                    {3: 1},
		"nano=1u":                    {3: 1000},
		"nano=1234567890n":           {3: 1234567890},
		"pico=0.000000000001":        {4: 1},
		"pico=1n":                    {4: 1000},
		"page=0.000244140625":        {5: 1},
		"page=500m":                  {5: 2048},
		"page=1Ki":                   {5: 4096 << 10},
		"cpu=500m,memory=2Gi,gpu=1":  {500, 2 << 30, 1},
		"memory=4611686018427387903": {0, most - 1},
		"cpu=4611686018427387903m":   {most - 1},
		"pico=4611686.018427387904":  {4: most},
		"kind6=3":                    {6: 3},
		"cpu=1m,kind6=3,kind7=-4":    {0: 1, 6: 3, 7: -4},
		"cpu=-500m,memory=-2Gi":      {-500, -2 << 30},
		"gpu=-9223372036854775808":   {2: math.MinInt64},
		"memory=9223372036854775807": {0, math.MaxInt64},
	}
	for want, v := range tests {
		t.Run(want, func(t *testing.T) { require.Equal(t, want, s.Format(v)) })
	}
}

func TestSpace_ParseIsExact(t *testing.T) {
	tests := map[string]resources.Vector{
		"cpu=500m,memory=2Gi,gpu=1":       {500, 2 << 30, 1},
		"gpu=1,cpu=500m":                  {500, 0, 1},
		"  cpu=1 ,  gpu=2  ":              {1000, 0, 2},
		" 0 ":                             {},
		"cpu=0":                           {},
		"cpu=0.000,memory=0Ei":            {},
		"cpu=0.5":                         {500},
		"cpu=1.5":                         {1500},
		"cpu=1.250":                       {1250},
		"cpu=1000000n":                    {1},
		"cpu=1000u":                       {1},
		"cpu=0.000005k,gpu=0.002k":        {5, 0, 2},
		"memory=1k":                       {0, 1000},
		"memory=1Ki":                      {0, 1024},
		"memory=1.5Ki":                    {0, 1536},
		"memory=0.5Gi":                    {0, 512 << 20},
		"memory=1M":                       {0, 1e6},
		"memory=1G":                       {0, 1e9},
		"memory=1T":                       {0, 1e12},
		"memory=1P":                       {0, 1e15},
		"memory=1E":                       {0, 1e18},
		"memory=1Ti":                      {0, 1 << 40},
		"memory=1Pi":                      {0, 1 << 50},
		"memory=4Ei":                      {0, most},
		"memory=4611686018427387904":      {0, most},
		"memory=1000m":                    {0, 1},
		"cpu=4611686018427387.904":        {most},
		"cpu=0000000000000000000000001":   {1000},
		"memory=3.0000000000000000000000": {0, 3},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := usual(t).Parse(text)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestSpace_ParseRefuses(t *testing.T) {
	tests := map[string]struct {
		text string
		is   error
		want string
	}{
		"empty":                  {"", resources.ErrQuantity, `""`},
		"only spaces":            {"   ", resources.ErrQuantity, "name=quantity"},
		"trailing comma":         {"cpu=1,", resources.ErrQuantity, `""`},
		"zero among others":      {"0,cpu=1", resources.ErrQuantity, `"0"`},
		"no amount":              {"cpu", resources.ErrQuantity, `"cpu"`},
		"empty amount":           {"cpu=", resources.ErrQuantity, `cpu is ""`},
		"suffix alone":           {"memory=Gi", resources.ErrQuantity, `"Gi"`},
		"point alone":            {"cpu=.", resources.ErrQuantity, `"."`},
		"nothing before a point": {"cpu=.5", resources.ErrQuantity, `".5"`},
		"nothing after a point":  {"cpu=5.", resources.ErrQuantity, `"5."`},
		"two points":             {"cpu=1.2.3", resources.ErrQuantity, `"1.2.3"`},
		"unknown suffix":         {"memory=1GB", resources.ErrQuantity, "want a decimal number with an optional suffix"},
		"lower case suffix":      {"memory=1gi", resources.ErrQuantity, `"1gi"`},
		"exponent":               {"memory=1e3", resources.ErrQuantity, `"1e3"`},
		"plus":                   {"cpu=+1", resources.ErrQuantity, `"+1"`},
		"hexadecimal":            {"cpu=0x10", resources.ErrQuantity, `"0x10"`},
		"underscore":             {"cpu=1_000", resources.ErrQuantity, `"1_000"`},
		"fraction":               {"cpu=1/2", resources.ErrQuantity, `"1/2"`},
		"not ASCII":              {"cpu=١", resources.ErrQuantity, "١"},
		"NaN":                    {"cpu=NaN", resources.ErrQuantity, `"NaN"`},
		"infinite":               {"cpu=Inf", resources.ErrQuantity, `"Inf"`},
		"space inside":           {"cpu= 1", resources.ErrQuantity, `" 1"`},
		"negative":               {"cpu=-1", resources.ErrQuantity, `cpu is "-1", want 0 or more`},
		"negative zero":          {"cpu=-0", resources.ErrQuantity, `"-0"`},
		"half a millicore":       {"cpu=0.5m", resources.ErrQuantity, "whole number of base units, which are 1000 to one"},
		"half a GPU":             {"gpu=0.5", resources.ErrQuantity, `gpu is "0.5"`},
		"just not whole":         {"memory=1.0000000000000000000000000000000001", resources.ErrQuantity, "whole"},
		"one too many":           {"memory=4611686018427387905", resources.ErrQuantity, "want at most 4Ei"},
		"far too many":           {"memory=5Ei", resources.ErrQuantity, `"5Ei"`},
		"many digits":            {"gpu=" + strings.Repeat("9", 120), resources.ErrQuantity, "want at most"},
		"too many digits":        {"gpu=" + strings.Repeat("1", 129), resources.ErrQuantity, "129 bytes"},
		"far too many digits":    {"gpu=" + strings.Repeat("1", 1<<20), resources.ErrQuantity, "want at most 4096"},
		"unknown name":           {"cpus=1", resources.ErrKind, `"cpus", want one of ["cpu" "memory" "gpu"]`},
		"no name":                {"=1", resources.ErrKind, `""`},
		"upper case name":        {"CPU=1", resources.ErrKind, `"CPU"`},
		"space after the name":   {"cpu =1", resources.ErrKind, `"cpu "`},
		"kind without a name":    {"kind5=3", resources.ErrKind, `"kind5"`},
		"twice":                  {"cpu=1,memory=1,cpu=1", resources.ErrKind, `"cpu" a second time`},
		"twice, once nothing":    {"cpu=0,cpu=1", resources.ErrKind, "second time"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := usual(t).Parse(tt.text)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.want)
			require.Zero(t, got)
			require.Less(t, len(err.Error()), 400, "a message stays readable")
		})
	}
}

func TestNewSpace_Refuses(t *testing.T) {
	d := func(name string) resources.Dimension { return resources.Dimension{Name: name} }
	unit := func(n int64) []resources.Dimension { return []resources.Dimension{{Name: "a", PerUnit: n}} }
	tests := map[string]struct {
		dims []resources.Dimension
		is   error
		want string
	}{
		"none":            {nil, resources.ErrKind, "0 dimensions, want 1 to 8"},
		"nine":            {make([]resources.Dimension, 9), resources.ErrKind, "9 dimensions"},
		"zero Dimension":  {make([]resources.Dimension, 1), resources.ErrKind, "1 to 256 bytes"},
		"long name":       {[]resources.Dimension{d(strings.Repeat("a", 257))}, resources.ErrKind, "have 257"},
		"comma":           {[]resources.Dimension{d("a,b")}, resources.ErrKind, "','"},
		"equals":          {[]resources.Dimension{d("a=b")}, resources.ErrKind, "'='"},
		"space":           {[]resources.Dimension{d("a b")}, resources.ErrKind, "' '"},
		"quote":           {[]resources.Dimension{d(`a"`)}, resources.ErrKind, `'"'`},
		"at":              {[]resources.Dimension{d("@")}, resources.ErrKind, "'@'"},
		"bracket":         {[]resources.Dimension{d("[")}, resources.ErrKind, "'['"},
		"not ASCII":       {[]resources.Dimension{d("é")}, resources.ErrKind, "letters"},
		"taken":           {[]resources.Dimension{d("kind7")}, resources.ErrKind, `"kind7"`},
		"same name":       {[]resources.Dimension{d("a"), d("b"), d("a")}, resources.ErrKind, "0 and 2"},
		"negative unit":   {unit(-1), resources.ErrQuantity, `"a" is -1`},
		"large unit":      {unit(math.MaxInt64), resources.ErrQuantity, "2^62"},
		"most negative":   {unit(math.MinInt64), resources.ErrQuantity, "-9223372036854775808"},
		"a third":         {unit(3), resources.ErrQuantity, "2 and 5"},
		"seconds an hour": {unit(3600), resources.ErrQuantity, "3600"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := resources.NewSpace(tt.dims...)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, s)
		})
	}
}

func TestSpace_KnowsItsDimensions(t *testing.T) {
	dims := []resources.Dimension{resources.CPU(), resources.Memory(), {Name: "nvidia.com/gpu"}, {Name: "kind8"}, {Name: "-_Z9"}}
	s := newSpace(t, dims...)
	dims[0].Name = "changed later"

	require.Equal(t, 5, s.Kinds())
	for k, name := range []string{"cpu", "memory", "nvidia.com/gpu", "kind8", "-_Z9"} {
		got, ok := s.Kind(name)
		require.True(t, ok)
		require.Equal(t, resources.Kind(k), got)
		d, ok := s.Dimension(got)
		require.True(t, ok)
		require.Equal(t, name, d.Name)
	}
	gpu, _ := s.Dimension(2)
	require.Equal(t, resources.Dimension{Name: "nvidia.com/gpu", PerUnit: 1}, gpu, "PerUnit 0 means 1")
	_, ok := s.Dimension(5)
	require.False(t, ok)
	_, ok = s.Dimension(255)
	require.False(t, ok)
	_, ok = s.Kind("tpu")
	require.False(t, ok)
}

func TestSpace_NilNamesNothingAndHidesNothing(t *testing.T) {
	for name, s := range map[string]*resources.Space{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, s.Kinds())
			require.Equal(t, "kind0=1,kind7=2", s.Format(resources.Vector{0: 1, 7: 2}))
			require.Equal(t, "0", s.Format(resources.Vector{}))
			_, err := s.Parse("cpu=1")
			require.ErrorIs(t, err, resources.ErrKind)
			_, ok := s.Dimension(0)
			require.False(t, ok)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"cpu=500m,memory=2Gi,gpu=1", "0", "", "cpu=0.5", "memory=4Ei", "cpu=-1", "a.b/c-d=12u", "gpu=0.25", "cpu=1,cpu=1", "kind5=3",
		" cpu=1 , gpu=2 ", "memory=4611686018427387905", "cpu=1e9", "a.b/c-d=0.000000000001", "gpu=99999999999999999999999E",
	} {
		f.Add(text)
	}
	s := newSpace(f, resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu", PerUnit: 4},
		resources.Dimension{Name: "a.b/c-d", PerUnit: 1e12})
	f.Fuzz(func(t *testing.T, text string) {
		v, err := s.Parse(text)
		if err != nil {
			require.Zero(t, v)
			require.NotEqual(t, isKind(err), isQuantity(err), "one sentinel: %v", err)
			return
		}
		require.NoError(t, v.Check())
		again, err := s.Parse(s.Format(v))
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}
