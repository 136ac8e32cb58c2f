package journal

import (
	"encoding/binary"

	"github.com/cellsched/cellsched/resources"
)

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendVector(b []byte, v *resources.Vector) []byte {
	mask := byte(0)
	for k, q := range v {
		if q != 0 {
			mask |= 1 << k
		}
	}
	b = append(b, mask)
	for _, q := range v {
		if q != 0 {
			b = binary.AppendUvarint(b, uint64(q))
		}
	}
	return b
}

// noteReader reads notes. bad is set where they end too early.
type noteReader struct {
	rest []byte
	bad  bool
}

func (r *noteReader) number() uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

func (r *noteReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *noteReader) vector() (v resources.Vector) {
	if len(r.rest) == 0 {
		r.bad = true
		return v
	}
	mask := r.rest[0]
	r.rest = r.rest[1:]
	for k := range v {
		if mask&(1<<k) != 0 {
			v[k] = int64(min(r.number(), 1<<63-1)) // Check refuses more than 2^62
		}
	}
	r.bad = r.bad || v.Check() != nil
	return v
}

// encodeNotes returns the body of notes: the name of the board, and of each note the key, the
// amount, the need, and the bound behind a 1, or a 0.
func encodeNotes(name string, notes []Note) []byte {
	b := appendText(nil, name)
	for i := range notes {
		n := &notes[i]
		b = appendVector(appendVector(appendText(b, n.Key), &n.Amount), &n.Need)
		if !n.Bounded {
			b = append(b, 0)
			continue
		}
		b = appendVector(append(b, 1), &n.Most)
	}
	return b
}

func decodeNotes(body []byte) (name string, notes []Note, ok bool) {
	r := noteReader{rest: body}
	name = r.text()
	for len(r.rest) > 0 && !r.bad {
		n := Note{Key: r.text(), Amount: r.vector(), Need: r.vector()}
		if n.Bounded = r.number() != 0; n.Bounded {
			n.Most = r.vector()
		}
		notes = append(notes, n)
	}
	return name, notes, !r.bad && name != ""
}
