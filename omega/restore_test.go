package omega_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Files with the right checksums, but with content that no cell has.
func TestRestore_RefusesWhatNoCellIs(t *testing.T) {
	// Places in what is valid.
	const (
		tag = iota
		kinds
		accounts
		account
		schedulers
		scheduler
		epoch
		jobs
		held
		mostJobs
		gang
		lowest
		highest
		mask
		machines
		name
		generation
		capacityKinds
		capacity
		attributes
		key1
		value1
		key2
		value2
		condition
		changes
		claims
		allocations
		slot1
		age1
		record1
		owner
		account1
		precedence
		needKinds
		need
		slot2
		age2
		record2
		leaving
		name2
		generation2
		capacityKinds2
		attributes2
		condition2
		changes2
		claims2
		allocations2
		leaving2
		spare
		spare1
		marks
		node
		markGeneration
		markSlot
		markAge
		markRecord
		by
	)
	valid := []any{
		7, 0, 1, "ads",
		1, "s", 2, 1, 0, 1, 0, 0, 0, 0, // jobs 1 of 1
		2, "a", 3, 1, 10, 2, "k", "v", "l", "w", 0, 5, 3, // of 10, changed 5 times
		2, 0, 1, 1024 + 279, 1, 1, 0, 1, 4, 1, 0, 279, 0, // slots 0 and 2, with 4 each
		"b", 1, 0, 0, 2, 6, 0, 0, 0, // removed
		1, 1, // its number is spare
		1, 1, 1, 0, 0, 279, 0, // and an allocation on it was lost
	}
	require.Len(t, valid, by+1)
	cell, err := omega.Restore(bytes.NewReader(inFrames(content(valid...))), nil)
	require.NoError(t, err)
	require.NoError(t, cell.Check())
	require.Equal(t, content(valid...), contentOf(save(t, cell)))

	tests := map[string]struct {
		at    int
		value any
		text  string
	}{
		"tag":                        {tag, 1 << 24, "tag"},
		"too many resources":         {kinds, 9, "number of resources"},
		"account without a name":     {account, "", "account: invalid name: it is empty"},
		"account of no text":         {account, "a\x00", `account: invalid name: "a\x00" has U+0000 at byte 1`},
		"scheduler of no text":       {scheduler, "\xff", `scheduler: invalid name: "\xff" has byte 0xff at 0`},
		"machine of no text":         {name, "\n", `machine: invalid name: "\n" has U+000A at byte 0`},
		"attribute of no text":       {key2, "l\r", `attribute: invalid name: "l\r" has U+000D at byte 1`},
		"attribute without a name":   {key1, "", "attribute: invalid name: it is empty"},
		"attribute of a long text":   {value1, strings.Repeat("v", 257), "value of an attribute: invalid name"},
		"too many schedulers":        {schedulers, 1<<20 + 1, "number of schedulers"},
		"scheduler without a name":   {scheduler, "", "scheduler: invalid name: it is empty"},
		"more jobs than admitted":    {jobs, 2, "2 jobs admitted"},
		"no flag":                    {held, 4, "flags of its limits is 4"},
		"lowest above highest":       {lowest, 2, "lowest <= highest"},
		"precedence of 33 bits":      {highest, uint64(1 << 33), "32 bits"},
		"jobs beyond all numbers":    {mostJobs, uint64(1<<63 - 1), "limit of jobs"},
		"too many machines":          {machines, 1<<20 + 1, "number of machines"},
		"machine without a name":     {name, "", "machine: invalid name: it is empty"},
		"capacity above all":         {capacity, uint64(1<<62 + 1), "want 1 to 2^62"},
		"capacity written as zero":   {capacity, 0, "want 1 to 2^62"},
		"unknown kind":               {capacityKinds, 256, "capacity is 256"},
		"attributes in no order":     {key2, "j", "rising order"},
		"attribute twice":            {key2, "k", "rising order"},
		"unknown condition":          {condition, 3, "condition"},
		"removed with allocations":   {condition, 2, "want at most"},
		"never added":                {changes, 0, "never changed"},
		"granted before it was":      {age1, 4, "age"},
		"slot beyond the last":       {slot1, 1 << 20, "slot"},
		"too many allocations":       {allocations, 1<<20 + 1, "number of allocations"},
		"like no other":              {record1, 5, "like number 5"},
		"unknown record":             {record1, 2049, "record"},
		"owned by nobody":            {owner, 0, "without a scheduler"},
		"owned by whom there is not": {owner, 2, "scheduler of an allocation"},
		"unknown account":            {account1, 2, "account"},
		"more than there is":         {need, 6, "which is left"},
		"second like no other":       {record2, 1, "like number 1"},
		"spare but in use":           {spare1, 0, "given out again"},
		"spare but not there":        {spare1, 2, "removed machine"},
		"not spare":                  {condition2, 0, "given out again"},
		"mark on no machine":         {node, 2, "machine of a mark"},
		"mark of a later machine":    {markGeneration, 2, "generation"},
		"mark before all":            {markAge, 5, "age"},
		"lost where it lives":        {node, 0, "in use and marked"},
		"preempted by whom?":         {by, 2, "preemptor"},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			values := slices.Clone(valid)
			values[test.at] = test.value
			_, err := omega.Restore(bytes.NewReader(inFrames(content(values...))), nil)
			require.ErrorIs(t, err, omega.ErrDamaged)
			require.ErrorContains(t, err, test.text)
		})
	}

	more := map[string]struct {
		text string
		from int // values from here to the end are others
		rest []any
	}{
		"account twice":       {"\"ads\"", accounts, []any{2, "ads", "ads"}},
		"scheduler twice":     {"scheduler \"s\"", schedulers, []any{2, "s", 0, 0, 0, 0, 0, 0, 0, 0, "s", 0, 0, 0, 0, 0, 0, 0, 0}},
		"machine twice":       {"second time", name2, []any{"a", 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}},
		"spare twice":         {"given out again", spare, []any{2, 1, 1, 0}},
		"spare left out":      {"want 1", spare, []any{0, 0}},
		"marked twice":        {"marked twice", marks, []any{2, 1, 1, 0, 0, 279, 0, 1, 1, 0, 0, 279, 0}},
		"live and marked":     {"in use and marked", marks, []any{1, 0, 3, 0, 1, 279, 1, 0, 0}},
		"lost though it is":   {"want a removed one", marks, []any{1, 0, 3, 1, 1, 279, 0}},
		"preempted and live":  {"both live and preempted", leaving, []any{1, 0, 1, 1, 4, 1, 0, 0, "b", 1, 0, 0, 2, 6, 0, 0, 0, 1, 1, 0}},
		"preempted by nobody": {"by nobody", leaving, []any{1, 0, 1, 1, 4, 0, 0, 0}},
		"allocation of 0":     {"an allocation that needs nothing, want none", needKinds, []any{0, 0}},
		"preempted of 0":      {"what is leaving needs nothing", leaving, []any{1, 0, 1, 0, 1, 0, 0}},
		"marked of 0":         {"an allocation that needs nothing, want none", markRecord, []any{2048, 1, 0, 0, 0, 0, 0, 0}},
		"no time":             {"nanosecond", leaving, []any{1, 0, 1, 1, 4, 1, 0, 1_000_000_000}},
		"content left":        {"content left", by, []any{0, 0}},
		"content ends":        {"want more content", by, nil},
	}
	for what, test := range more {
		t.Run(what, func(t *testing.T) {
			values := append(slices.Clone(valid[:test.from]), test.rest...)
			_, err := omega.Restore(bytes.NewReader(inFrames(content(values...))), nil)
			require.ErrorIs(t, err, omega.ErrDamaged)
			require.ErrorContains(t, err, test.text)
		})
	}
}

// A file with the right checksums, whatever is in it, is refused or makes a cell. In
// that cell all invariants hold, and it comes back as it is.
func FuzzRestore(f *testing.F) {
	cell, _ := fullCell(f)
	f.Add(contentOf(save(f, cell)))
	empty, _ := newCell(f, 0, resources.Vector{})
	f.Add(contentOf(save(f, empty)))
	f.Add(content(7, 0, 0, 1, "s", 0, 0, 0, 0, 0, 0, 0, 0, 1, "m", 0, 1, 10, 0, 0, 5, 3, 1, 0, 1, 1024, 1, 0, 0, 1, 4, 0, 0, 0))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4<<10 {
			t.Skip("each machine may take 4 MiB for slots")
		}
		cell, err := omega.Restore(bytes.NewReader(inFrames(content)), nil)
		if err != nil {
			require.ErrorIs(t, err, omega.ErrDamaged)
			require.Nil(t, cell)
			return
		}
		require.NoError(t, cell.Check())
		again, err := omega.Restore(bytes.NewReader(save(t, cell)), nil)
		require.NoError(t, err)
		requireAlike(t, cell, again, nil)
	})
}

func BenchmarkSave(b *testing.B) {
	cell := largeCell(b)
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		var file bytes.Buffer
		require.NoError(b, cell.Save(&file))
		size = file.Len()
	}
	b.ReportMetric(float64(size)/largeAllocations, "B/allocation")
}

func BenchmarkRestore(b *testing.B) {
	cell := largeCell(b)
	file := save(b, cell)
	b.ReportAllocs()
	for b.Loop() {
		_, err := omega.Restore(bytes.NewReader(file), nil)
		require.NoError(b, err)
	}
}

func BenchmarkDump(b *testing.B) {
	cell := largeCell(b)
	for b.Loop() {
		var file bytes.Buffer
		require.NoError(b, cell.Dump(&file))
	}
}

const largeAllocations = 1_000_000

// largeCell returns 5,000 machines with 1,000,000 allocations of 12 kinds.
func largeCell(b *testing.B) *omega.Cell {
	b.Helper()
	cell, ids := newCell(b, 5000, resources.Vector{64000, 1 << 40, 8})
	s := register(b, cell, "batch")
	accounts := []omega.Account{accountOf(cell, "x"), accountOf(cell, "y"), accountOf(cell, "z")}
	var tx omega.Txn
	for i := range largeAllocations {
		c := claim(ids[i%len(ids)], int64(50*(1+i%4)), 1<<30)
		c.Account = accounts[i%3]
		tx.Reset()
		tx.Claim(c)
		granted, err := s.Commit(&tx)
		require.NoError(b, err)
		require.Equal(b, 1, granted)
	}
	return cell
}

// content writes numbers and texts as Save does.
func content(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case int:
			b = binary.AppendUvarint(b, uint64(v))
		case uint64:
			b = binary.AppendUvarint(b, v)
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
		}
	}
	return b
}

// inFrames makes a file of content, with the right checksums.
func inFrames(content []byte) []byte {
	table, sum := crc32.MakeTable(crc32.Castagnoli), uint32(0)
	var file []byte
	write := func(b []byte) {
		sum = crc32.Update(sum, table, b)
		file = binary.LittleEndian.AppendUint32(append(file, b...), sum)
	}
	write(binary.LittleEndian.AppendUint32([]byte("OmegaCel"), 1))
	for part := range slices.Chunk(content, 64<<10) {
		write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(part))), part...))
	}
	write(make([]byte, 4))
	return file
}

// contentOf is the inverse of inFrames.
func contentOf(file []byte) (content []byte) {
	for file = file[16:]; ; {
		n := binary.LittleEndian.Uint32(file)
		if n == 0 {
			return content
		}
		content, file = append(content, file[4:4+n]...), file[8+n:]
	}
}
