package resources

import (
	"errors"
	"fmt"
	"strings"
)

// maxText bounds the text of [Space.Parse]. Eight of the longest names with eight
// of the longest quantities stay below it, so that Parse accepts all texts of
// [Space.Format].
const maxText = 4096

// Texts have room for all kinds, and the names of kinds without a name end in one
// digit. With too many kinds these do not compile.
const (
	_ = uint(maxText - MaxKinds*(MaxName+maxQuantityText+2))
	_ = uint(10 - MaxKinds)
)

// ErrKind reports a name of a kind that is malformed, unknown or given twice. It
// also reports an amount of a kind that a [Space] has no name for.
var ErrKind = errors.New("resources: invalid kind")

// A Dimension is the name and the base unit of one kind of resource.
//
// The zero value has no name and is refused by [NewSpace]. A Dimension is a plain
// value.
type Dimension struct {
	// Name is 1 to [MaxName] letters, digits, '.', '_', '/' or '-'. The names
	// kind0 to kind7 are taken: [Space.Format] writes kinds without a name so.
	Name string

	// PerUnit is the number of base units in one written unit: 1000 if the vector
	// counts millicores and people write cores. 0 means 1. It has no prime factor
	// but 2 and 5: otherwise some amounts would have no exact decimal number.
	PerUnit int64

	// Binary prints with Ki, Mi, Gi (powers of 1024) instead of k, M, G. Both
	// are read in any case.
	Binary bool
}

// CPU returns the usual dimension for processors: cores, counted in
// millicores.
func CPU() Dimension { return Dimension{Name: "cpu", PerUnit: 1000} }

// Memory returns the usual dimension for memory: bytes, printed with binary
// suffixes.
func Memory() Dimension { return Dimension{Name: "memory", PerUnit: 1, Binary: true} }

// A Space is the names of a [Vector]'s kinds and their units. It turns vectors into
// text and back.
//
// A nil or zero Space names nothing: every kind is unknown to it, and
// [Space.Format] still shows all amounts. A Space never changes and is safe for
// concurrent use.
type Space struct {
	dims []Dimension // by Kind, PerUnit never 0; written by NewSpace only
}

// NewSpace returns a space of dims in that order: the first is [Kind] 0. It keeps
// no reference to dims.
//
// Errors: [ErrKind] for no or more than [MaxKinds] dimensions and for a name that
// is malformed, taken or repeated. [ErrQuantity] is for a PerUnit that is negative,
// above [MaxQuantity], or has a prime factor besides 2 and 5.
func NewSpace(dims ...Dimension) (*Space, error) {
	if len(dims) < 1 || len(dims) > MaxKinds {
		return nil, fmt.Errorf("%w: %d dimensions, want 1 to %d", ErrKind, len(dims), MaxKinds)
	}
	s := &Space{dims: make([]Dimension, 0, len(dims))}
	for k, d := range dims {
		if fault := nameFault(d.Name); fault != "" {
			return nil, fmt.Errorf("%w: dimension %d is called %.64q, %s", ErrKind, k, d.Name, fault)
		}
		if first, ok := s.Kind(d.Name); ok {
			return nil, fmt.Errorf("%w: dimensions %d and %d are both called %.64q, want different names", ErrKind, first, k, d.Name)
		}
		if d.PerUnit == 0 {
			d.PerUnit = 1
		}
		if d.PerUnit < 0 || d.PerUnit > MaxQuantity || !decimal(d.PerUnit) {
			return nil, fmt.Errorf("%w: PerUnit of %q is %d, want 0 to 2^62 and no prime factor but 2 and 5", ErrQuantity, d.Name, d.PerUnit)
		}
		s.dims = append(s.dims, d)
	}
	return s, nil
}

// Kinds returns the number of kinds that the space names. They are 0 to Kinds()-1.
func (s *Space) Kinds() int {
	if s == nil {
		return 0
	}
	return len(s.dims)
}

// Kind returns the kind of a name, if there is one. Cost: O(kinds), no allocation.
func (s *Space) Kind(name string) (k Kind, ok bool) {
	for k := range s.Kinds() {
		if s.dims[k].Name == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Dimension returns the name and unit of kind k, with PerUnit never 0, or
// false where the space has no name for k.
func (s *Space) Dimension(k Kind) (d Dimension, ok bool) {
	if int(k) >= s.Kinds() {
		return Dimension{}, false
	}
	return s.dims[k], true
}

// Parse reads a vector from text such as "cpu=500m,memory=2Gi": names and
// quantities in any order. Kinds that are left out are zero, and "0" alone is the
// zero Vector. Spaces are allowed around commas and at either end.
//
// A quantity is a decimal number of written units, with an optional fraction and an
// optional suffix. Nothing is rounded. Suffixes are n, u, m, k, M, G, T, P, E
// (powers of 1000) and Ki, Mi, Gi, Ti, Pi, Ei (powers of 1024).
//
// Cost: O(len(text)), at most 4096 bytes, and a few allocations a quantity. Errors:
// [ErrKind] for a name that is unknown or repeated. [ErrQuantity] is for all other
// malformed text, and for an amount that is negative, above [MaxQuantity], or not a
// whole number of base units.
func (s *Space) Parse(text string) (Vector, error) {
	if len(text) > maxText {
		return Vector{}, fmt.Errorf("%w: text of %d bytes, want at most %d", ErrQuantity, len(text), maxText)
	}
	if strings.Trim(text, " ") == "0" {
		return Vector{}, nil
	}
	r := reading{space: s}
	for part := range strings.SplitSeq(text, ",") {
		name, quantity, ok := strings.Cut(strings.Trim(part, " "), "=")
		if !ok {
			return Vector{}, fmt.Errorf(`%w: %.64q, want name=quantity,... or 0`, ErrQuantity, part)
		}
		k, err := r.next(name)
		if err != nil {
			return Vector{}, err
		}
		if r.v[k], err = parseQuantity(quantity, s.dims[k]); err != nil {
			return Vector{}, err
		}
	}
	return r.v, nil
}

// Format writes v as [Space.Parse] reads it: kinds that are not zero, in the
// space's order. Each amount is exact, with the largest suffix that leaves a whole
// number. The zero Vector is "0". Parse(Format(v)) is v for every valid v within
// the space.
//
// Amounts that Parse would refuse are shown all the same, so that no message hides
// them. Negative ones have their sign. Those of a kind without a name are in base
// units, as "kind5=3". Cost: O(kinds), some 10 allocations a quantity.
func (s *Space) Format(v Vector) string {
	var parts []string
	for k, q := range v {
		if q == 0 {
			continue
		}
		if d, ok := s.Dimension(Kind(k)); ok {
			parts = append(parts, d.Name+"="+formatQuantity(q, d))
		} else {
			parts = append(parts, fmt.Sprintf("kind%d=%d", k, q))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ",")
}

// check returns an error unless v is valid and all of it has a name in s, so
// that its text can be read back.
func (s *Space) check(v Vector) error {
	for k, q := range v {
		d, named := s.Dimension(Kind(k))
		if q != 0 && !named {
			return fmt.Errorf("%w: kind%d=%d, want only the %d kinds of the space", ErrKind, k, q, s.Kinds())
		}
		if q < 0 || q > MaxQuantity {
			return fmt.Errorf("%w: %s is %d base units, want 0 to 2^62", ErrQuantity, d.Name, q)
		}
	}
	return nil
}

// A reading is a vector that is being read by name.
type reading struct {
	space *Space
	v     Vector
	seen  [MaxKinds]bool
}

// next returns the kind of name, which must not have been read before.
func (r *reading) next(name string) (Kind, error) {
	k, ok := r.space.Kind(name)
	if !ok {
		return 0, fmt.Errorf("%w: %.64q, want one of %q", ErrKind, name, r.space.names())
	}
	if r.seen[k] {
		return 0, fmt.Errorf("%w: %q a second time, want each kind once", ErrKind, name)
	}
	r.seen[k] = true
	return k, nil
}

func (s *Space) names() []string {
	names := make([]string, s.Kinds())
	for k := range names {
		names[k] = s.dims[k].Name
	}
	return names
}

// nameFault returns the fault of a dimension's name, or "".
func nameFault(name string) string {
	if len(name) < 1 || len(name) > MaxName {
		return fmt.Sprintf("want 1 to %d bytes, have %d", MaxName, len(name))
	}
	for _, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && !strings.ContainsRune("._/-", rune(c)) {
			return fmt.Sprintf("want letters, digits, '.', '_', '/' and '-', have %q", c)
		}
	}
	if n, ok := strings.CutPrefix(name, "kind"); ok && len(n) == 1 && n[0] >= '0' && n[0] < '0'+MaxKinds {
		return "want another name, since a kind without one is written so"
	}
	return ""
}
