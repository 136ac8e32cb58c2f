package file

import (
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
)

// memory is a disk that keeps unsynced writes apart.
type memory struct {
	files   map[string]*content // by the names that a program sees
	durable map[string]*content // by the names that are synced
	strict  bool                // only the sync of the folder makes a name durable
	fault   func(call string) error
}

// content is a file: as a program sees it, and as it was synced.
type content struct{ now, synced []byte }

func newMemory() *memory {
	return &memory{files: map[string]*content{}, durable: map[string]*content{}, fault: func(string) error { return nil }}
}

func (m *memory) list() ([]string, error) { return slices.Sorted(maps.Keys(m.files)), nil }
func (m *memory) close() error            { return nil }

func (m *memory) open(name string) (handle, error) {
	if err := m.fault("open"); err != nil {
		return nil, err
	}
	if m.files[name] == nil {
		m.files[name] = &content{}
	}
	return &opened{m, m.files[name]}, nil
}

func (m *memory) rename(from, to string) error {
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memory) remove(name string) error {
	if err := m.fault("remove"); err != nil {
		return err
	}
	delete(m.files, name)
	return nil
}

func (m *memory) sync() error {
	if err := m.fault("sync names"); err != nil {
		return err
	}
	m.durable = maps.Clone(m.files)
	return nil
}

// crash returns a state that the disk may have after a crash: of each unsynced sector the old
// or the new content, and a size between. So it has, for each name by itself, the old or the
// new file.
func (m *memory) crash(rng *rand.Rand) *memory {
	after := newMemory()
	names := maps.Clone(m.durable)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if m.files[name] != m.durable[name] && rng.IntN(2) == 0 {
			delete(names, name) // removed, or renamed
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if m.files[name] != m.durable[name] && rng.IntN(2) == 0 {
			names[name] = m.files[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := names[name]
		size := len(c.synced)
		if more := len(c.now) - size; more > 0 {
			size += rng.IntN(more + 1)
		} else if more < 0 && rng.IntN(2) == 0 {
			size = len(c.now)
		}
		kept := make([]byte, size)
		for at := 0; at < size; at += sector {
			from := c.synced
			if rng.IntN(2) == 0 {
				from = c.now
			}
			if at < len(from) {
				copy(kept[at:min(at+sector, size)], from[at:])
			}
		}
		after.files[name] = &content{now: kept, synced: bytes.Clone(kept)}
	}
	after.durable, after.strict = maps.Clone(after.files), m.strict
	return after
}

// opened is an open file.
type opened struct {
	disk *memory
	*content
}

func (f *opened) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(f.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.now[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *opened) WriteAt(b []byte, at int64) (int, error) {
	err := f.disk.fault("write")
	if err != nil {
		b = b[:len(b)/2]
	}
	if need := int(at) + len(b); need > len(f.now) {
		f.now = append(bytes.Clone(f.now), make([]byte, need-len(f.now))...)
	} else {
		f.now = bytes.Clone(f.now)
	}
	copy(f.now[at:], b)
	return len(b), err
}

func (f *opened) Truncate(size int64) error {
	if err := f.disk.fault("truncate"); err != nil {
		return err
	}
	f.now = bytes.Clone(f.now[:min(int(size), len(f.now))])
	return nil
}

func (f *opened) Sync() error {
	if err := f.disk.fault("sync"); err != nil {
		return err
	}
	f.synced = f.now
	if f.disk.strict {
		return nil
	}
	if name := f.name(); f.disk.durable[name] == nil && name != "" {
		f.disk.durable[name] = f.content // fsync of a new file makes its name durable, as ext4 and xfs do
	}
	return nil
}

func (f *opened) name() string {
	for name, c := range f.disk.files {
		if c == f.content {
			return name
		}
	}
	return ""
}

func (f *opened) Close() error         { return nil }
func (f *opened) size() (int64, error) { return int64(len(f.now)), nil }
