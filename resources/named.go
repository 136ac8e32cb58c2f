package resources

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/cellsched/cellsched/internal/fault"
)

// jsonSpace is the white space of JSON, which is less than Unicode's.
const jsonSpace = " \t\r\n"

// Named is a [Vector] together with the [Space] that names its kinds, for
// configuration files and interfaces to other programs.
//
// The zero Named can be printed but neither written nor read: set Space first.
// It is a plain value; reading into one changes its Vector only, and not at
// all on an error.
type Named struct {
	Space  *Space
	Vector Vector
}

// String returns the text of [Space.Format].
func (n Named) String() string { return n.Space.Format(n.Vector) }

// In returns the same amounts as a vector of another space, kind by kind after
// their names.
//
// Errors: [ErrKind] for a nil space and for an amount of a kind that s has no name
// for. [ErrQuantity] is for an amount that is invalid, too large in the units of s,
// or not a whole number of them.
func (n Named) In(s *Space) (Vector, error) {
	if err := n.check("converting"); err != nil {
		return Vector{}, err
	}
	if s == nil {
		return Vector{}, fmt.Errorf("%w: space to convert to is nil", ErrKind)
	}
	var v Vector
	for k := range n.Space.Kinds() {
		if n.Vector[k] == 0 {
			continue
		}
		from := n.Space.dims[k]
		text := formatQuantity(n.Vector[k], from)
		to, ok := s.Kind(from.Name)
		if !ok {
			return Vector{}, fmt.Errorf("%w: %s=%s, want only %q", ErrKind, from.Name, text, s.names())
		}
		var err error
		if v[to], err = whole64(big.NewRat(n.Vector[k], from.PerUnit), text, s.dims[to]); err != nil {
			return Vector{}, err
		}
	}
	return v, nil
}

// MarshalText returns the text of [Space.Format]. Errors: [ErrKind] for a nil Space
// and for an amount of a kind that it has no name for, [ErrQuantity] for an invalid
// amount.
func (n Named) MarshalText() ([]byte, error) {
	if err := n.check("writing"); err != nil {
		return nil, err
	}
	return []byte(n.Space.Format(n.Vector)), nil
}

// UnmarshalText reads the text of [Space.Parse] into Vector. Errors: [ErrKind] for
// a nil Space, and those of Parse.
func (n *Named) UnmarshalText(text []byte) error {
	if n == nil {
		return fault.New("resources", "Named to read into", ErrNil)
	}
	if err := n.needSpace("reading"); err != nil {
		return err
	}
	v, err := n.Space.Parse(string(text))
	if err == nil {
		n.Vector = v
	}
	return err
}

// MarshalJSON returns an object of quantities by name, in the space's order,
// without those that are zero: {"cpu":"500m","memory":"2Gi"}. Errors as for
// [Named.MarshalText].
func (n Named) MarshalJSON() ([]byte, error) {
	if err := n.check("writing"); err != nil {
		return nil, err
	}
	text := []byte{'{'}
	for k := range n.Space.Kinds() {
		if n.Vector[k] == 0 {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		// A name has no character that JSON would escape, nor has a quantity.
		text = strconv.AppendQuote(text, n.Space.dims[k].Name)
		text = append(text, ':')
		text = strconv.AppendQuote(text, formatQuantity(n.Vector[k], n.Space.dims[k]))
	}
	return append(text, '}'), nil
}

// UnmarshalJSON reads an object of quantities by name into Vector; kinds that are
// left out become zero. A quantity is a string as for [Space.Parse], or a number of
// written units, taken exactly as its digits say. As in encoding/json, null changes
// nothing.
//
// Cost: O(len(data)). Errors: [ErrKind] for a nil Space and for a name that is
// unknown or repeated. [ErrQuantity] is for a quantity that Parse would refuse and
// for JSON of another shape.
func (n *Named) UnmarshalJSON(data []byte) error {
	if n == nil {
		return fault.New("resources", "Named to read into", ErrNil)
	}
	if err := n.needSpace("reading"); err != nil {
		return err
	}
	if string(bytes.Trim(data, jsonSpace)) == "null" {
		return nil
	}
	v, err := n.Space.parseJSON(data)
	if err == nil {
		n.Vector = v
	}
	return err
}

// parseJSON walks over the tokens itself: decoding into a map would silently keep
// the last of two equal names.
func (s *Space) parseJSON(data []byte) (Vector, error) {
	// The tokens of a Decoder are not enough: it accepts some text that is not
	// JSON. After this they cannot fail.
	if start := bytes.TrimLeft(data, jsonSpace); !json.Valid(data) || start[0] != '{' {
		return Vector{}, fmt.Errorf("%w: %.64q, want a JSON object", ErrQuantity, data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_, err := d.Token() // the opening brace
	r := reading{space: s}
	for err == nil && d.More() {
		err = r.readPair(d)
	}
	if err != nil {
		return Vector{}, err
	}
	return r.v, nil
}

// readPair reads a name and its quantity.
func (r *reading) readPair(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	name, _ := token.(string)
	k, err := r.next(name)
	if err != nil {
		return err
	}
	if token, err = d.Token(); err != nil {
		return err
	}
	switch q := token.(type) {
	case string:
		r.v[k], err = parseQuantity(q, r.space.dims[k])
	case json.Number:
		r.v[k], err = parseNumber(q.String(), r.space.dims[k])
	default:
		err = fmt.Errorf("%w: %s is %v, want a string or a number", ErrQuantity, name, q)
	}
	return err
}

// check returns an error unless n can be written and read back.
func (n Named) check(doing string) error {
	if err := n.needSpace(doing); err != nil {
		return err
	}
	return n.Space.check(n.Vector)
}

func (n Named) needSpace(doing string) error {
	if n.Space == nil {
		return fmt.Errorf("%w: Space of a Named is nil, set it before %s", ErrKind, doing)
	}
	return nil
}
