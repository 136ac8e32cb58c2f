package resources_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

func isKind(err error) bool     { return errors.Is(err, resources.ErrKind) }
func isQuantity(err error) bool { return errors.Is(err, resources.ErrQuantity) }

func TestNamed_RoundTripsAsTextAndJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces.Draw(t, "space")
		n := resources.Named{Space: s, Vector: within(t, s)}

		text, err := n.MarshalText()
		require.NoError(t, err)
		require.Equal(t, n.String(), string(text))
		got := resources.Named{Space: s, Vector: resources.Vector{1: 9}}
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, n, got)

		object, err := json.Marshal(n)
		require.NoError(t, err)
		got = resources.Named{Space: s, Vector: resources.Vector{1: 9}}
		require.NoError(t, json.Unmarshal(object, &got))
		require.Equal(t, n, got)
	})
}

func TestNamed_JSONIsInTheOrderOfTheSpace(t *testing.T) {
	s := usual(t)
	object, err := json.Marshal(resources.Named{Space: s, Vector: resources.Vector{500, 2 << 30, 1}})
	require.NoError(t, err)
	require.Equal(t, `{"cpu":"500m","memory":"2Gi","gpu":"1"}`, string(object))

	object, err = json.Marshal(resources.Named{Space: s})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(object))
}

func TestNamed_ReadsJSON(t *testing.T) {
	tests := map[string]resources.Vector{
		`{}`: {},
		`{"cpu":"500m","memory":"2Gi","gpu":"1"}`: {500, 2 << 30, 1},
		`{ "gpu" : 1 , "cpu" : 0.5 }`:             {500, 0, 1},
		`{"cpu":0}`:                               {},
		`{"cpu":1.5e3,"memory":1E+9}`:             {1500000, 1e9},
		`{"cpu":5e-3}`:                            {5},
		`{"memory":4611686018427387904}`:          {0, most},
		`{"memory":4611686018427387903}`:          {0, most - 1}, // as a float64 this is one more
		`{"memory":46116860184273879.04e2}`:       {0, most},
		`{"memory":100000000000000000000000e-22}`: {0, 10},
		`{"\u0063pu":"1"}`:                        {1000},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			n := resources.Named{Space: usual(t), Vector: resources.Vector{7, 7, 7}}
			require.NoError(t, json.Unmarshal([]byte(text), &n))
			require.Equal(t, want, n.Vector)
		})
	}
}

func TestNamed_ReadsNullAsNoChange(t *testing.T) {
	n := resources.Named{Space: usual(t), Vector: resources.Vector{7}}
	require.NoError(t, json.Unmarshal([]byte(`null`), &n))
	require.NoError(t, n.UnmarshalJSON([]byte(` null `)))
	require.Equal(t, resources.Vector{7}, n.Vector)
}

func TestNamed_FailedReadChangesNothing(t *testing.T) {
	tests := map[string]struct {
		text string
		is   error
		want string
	}{
		"unknown name":         {`{"cpu":1,"tpu":1}`, resources.ErrKind, `"tpu"`},
		"name in another case": {`{"CPU":1}`, resources.ErrKind, `"CPU"`},
		"twice":                {`{"cpu":1,"cpu":1}`, resources.ErrKind, "second time"},
		"twice, escaped":       {`{"cpu":1,"\u0063pu":1}`, resources.ErrKind, "second time"},
		"empty quantity":       {`{"cpu":""}`, resources.ErrQuantity, `""`},
		"negative string":      {`{"cpu":"-1"}`, resources.ErrQuantity, `"-1"`},
		"negative number":      {`{"cpu":-1e2}`, resources.ErrQuantity, `"-1e2"`},
		"exponent in a string": {`{"cpu":"1e2"}`, resources.ErrQuantity, `"1e2"`},
		"not whole":            {`{"gpu":0.5}`, resources.ErrQuantity, "whole"},
		"not whole, exponent":  {`{"gpu":5e-1}`, resources.ErrQuantity, `"5e-1"`},
		"too large":            {`{"memory":4611686018427387905}`, resources.ErrQuantity, "4Ei"},
		"too large, exponent":  {`{"memory":1e20}`, resources.ErrQuantity, "4Ei"},
		"absurd exponent":      {`{"memory":1e999999999}`, resources.ErrQuantity, "exponent"},
		"exponent past int":    {`{"memory":1e-99999999999999999999}`, resources.ErrQuantity, "exponent"},
		"many digits":          {`{"memory":1` + strings.Repeat("0", 1<<16) + `}`, resources.ErrQuantity, "bytes long"},
		"null quantity":        {`{"cpu":null}`, resources.ErrQuantity, "cpu is"},
		"boolean":              {`{"cpu":true}`, resources.ErrQuantity, "true"},
		"nested object":        {`{"cpu":{"cpu":1}}`, resources.ErrQuantity, "want a string or a number"},
		"array":                {`["cpu"]`, resources.ErrQuantity, "object"},
		"string":               {`"cpu=1"`, resources.ErrQuantity, "object"},
		"number":               {`1`, resources.ErrQuantity, "object"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := resources.Named{Space: usual(t), Vector: resources.Vector{1, 2, 3}}
			n := before
			err := json.Unmarshal([]byte(tt.text), &n)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, before, n)
		})
	}
	t.Run("text", func(t *testing.T) {
		n := resources.Named{Space: usual(t), Vector: resources.Vector{1, 2, 3}}
		require.ErrorIs(t, n.UnmarshalText([]byte("cpu=5,gpu=-1")), resources.ErrQuantity)
		require.Equal(t, resources.Vector{1, 2, 3}, n.Vector)
	})
}

// encoding/json refuses these before it asks Named; other callers may not.
func TestNamed_RefusesBrokenJSON(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{`, `}`, `{"cpu"`, `{"cpu":`, `{"cpu":1`, `{"cpu":1,`, `{"cpu":1,}`, `{,}`, `{"cpu":1 "gpu":1}`, `{1:1}`, `{[`, `{{`,
		`{"cpu":01}`, `{"cpu":1}}`, `{"cpu":1}{}`, `{"cpu":1} x`, `{"cpu" 1}`, `nul`, "\vnull", "\v{}", "{\"cpu\":\"1\n\"}",
	} {
		t.Run(text, func(t *testing.T) {
			n := resources.Named{Space: usual(t), Vector: resources.Vector{1}}
			require.ErrorIs(t, n.UnmarshalJSON([]byte(text)), resources.ErrQuantity)
			require.Equal(t, resources.Vector{1}, n.Vector)
		})
	}
}

func TestNamed_NilSpaceSaysToSetIt(t *testing.T) {
	var n resources.Named
	_, text := n.MarshalText()
	_, object := n.MarshalJSON()
	_, in := n.In(usual(t))
	for name, err := range map[string]error{
		"MarshalText":   text,
		"MarshalJSON":   object,
		"UnmarshalText": n.UnmarshalText([]byte("0")),
		"UnmarshalJSON": n.UnmarshalJSON([]byte("{}")),
		"In":            in,
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, err, resources.ErrKind)
			require.ErrorContains(t, err, "set it before")
		})
	}
	require.Equal(t, "kind1=5", resources.Named{Vector: resources.Vector{0, 5}}.String())
}

func TestNamed_WritesOnlyReadableText(t *testing.T) {
	tests := map[string]struct {
		vector resources.Vector
		is     error
		want   string
	}{
		"negative":            {resources.Vector{-5}, resources.ErrQuantity, "cpu is -5"},
		"too large":           {resources.Vector{0, most + 1}, resources.ErrQuantity, "memory is 4611686018427387905"},
		"kind without a name": {resources.Vector{5: 3}, resources.ErrKind, "kind5=3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := resources.Named{Space: usual(t), Vector: tt.vector}
			_, text := n.MarshalText()
			_, object := n.MarshalJSON()
			_, in := n.In(n.Space)
			for _, err := range []error{text, object, in} {
				require.ErrorIs(t, err, tt.is)
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

func TestNamed_InAnotherSpace(t *testing.T) {
	from := usual(t)
	to := newSpace(t, resources.Dimension{Name: "disk"}, resources.Dimension{Name: "memory", PerUnit: 1 << 20}, resources.Dimension{Name: "cpu"})
	micro := newSpace(t, resources.Dimension{Name: "cpu", PerUnit: 1e6})
	tests := map[string]struct {
		vector resources.Vector
		space  *resources.Space
		want   resources.Vector
		is     error
		text   string
	}{
		"nothing":            {space: to},
		"same space":         {vector: resources.Vector{1, 2, 3}, space: from, want: resources.Vector{1, 2, 3}},
		"by name":            {vector: resources.Vector{2000}, space: to, want: resources.Vector{2: 2}},
		"finer":              {vector: resources.Vector{1500}, space: micro, want: resources.Vector{1500000}},
		"not whole":          {vector: resources.Vector{1500}, space: to, is: resources.ErrQuantity, text: `cpu is "1500m"`},
		"name lacking":       {vector: resources.Vector{0, 0, 1}, space: to, is: resources.ErrKind, text: "gpu=1"},
		"too large there":    {vector: resources.Vector{most}, space: micro, is: resources.ErrQuantity, text: "at most"},
		"MiB of a huge unit": {vector: resources.Vector{0, 1}, space: newSpace(t, resources.Dimension{Name: "memory", PerUnit: most}), want: resources.Vector{most}},
		"no space":           {is: resources.ErrKind, text: "nil"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := resources.Named{Space: from, Vector: tt.vector}.In(tt.space)
			require.ErrorIs(t, err, tt.is)
			if tt.is != nil {
				require.ErrorContains(t, err, tt.text)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestNamed_InThereAndBackIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces.Draw(t, "space")
		var dims []resources.Dimension
		for k := range s.Kinds() {
			d, _ := s.Dimension(resources.Kind(k))
			d.PerUnit = rapid.SampledFrom([]int64{1, 1000, 1 << 20, d.PerUnit}).Draw(t, "unit")
			dims = append([]resources.Dimension{d}, dims...) // and the other way round
		}
		other := newSpace(t, dims...)
		n := resources.Named{Space: s, Vector: within(t, s)}

		there, err := n.In(other)
		if err != nil {
			require.ErrorIs(t, err, resources.ErrQuantity)
			return
		}
		back, err := resources.Named{Space: other, Vector: there}.In(s)
		require.NoError(t, err)
		require.Equal(t, n.Vector, back)
	})
}

func FuzzNamedJSON(f *testing.F) {
	for _, text := range []string{
		`{"cpu":"500m","memory":"2Gi","gpu":"1"}`, `{}`, `null`, `{"cpu":1.5e3}`, `{"cpu":1,"cpu":1}`, `{"cpu":-1}`, `{"gpu":0.5}`,
		`{"cpu":null}`, `[]`, `{"cpu":{}}`, `{"cpu":1}{}`, `{"memory":1e999999999}`, `{"\u0063pu":"1"}`,
		"\vnull", `{"cpu":1 "gpu":1}`,
	} {
		f.Add([]byte(text))
	}
	s := usual(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before := resources.Named{Space: s, Vector: resources.Vector{1, 2, 3}}
		n := before
		if err := n.UnmarshalJSON(data); err != nil {
			require.Equal(t, before, n)
			require.NotEqual(t, isKind(err), isQuantity(err), "one sentinel: %v", err)
			return
		}
		require.True(t, json.Valid(data), "only JSON is read")
		require.NoError(t, n.Vector.Check())
		object, err := n.MarshalJSON()
		require.NoError(t, err)
		again := resources.Named{Space: s}
		require.NoError(t, json.Unmarshal(object, &again))
		require.Equal(t, n, again)
	})
}
