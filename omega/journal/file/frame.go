package file

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/cellsched/cellsched/omega/journal"
)

// A frame is the length of its data, its place, a checksum and the data. The place is the
// checksum of the length plus the position, modulo 2^32. It shows damage of either, and gives
// a reader the position.

// sector is the most that a disk writes whole or not at all.
const sector = 512

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// appendFrame appends the frame of an entry to b, which is empty.
func appendFrame(b []byte, at journal.Position, data []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli())+uint32(at))
	b = binary.LittleEndian.AppendUint32(b, checksum(b, data))
	return append(b, data...)
}

// checksum returns the checksum of a frame.
func checksum(head, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), data)
}

// headOf returns the size of the frame whose first bytes head is, and its position modulo 2^32.
// The size is 0 for bytes that no frame has.
func headOf(head []byte) (size int64, at uint32) {
	if len(head) < frameSize {
		return 0, 0
	}
	n := binary.LittleEndian.Uint32(head)
	if n == 0 || n > maxData {
		return 0, 0
	}
	return frameSize + int64(n), binary.LittleEndian.Uint32(head[4:]) - crc32.Checksum(head[:4], castagnoli())
}

// frameAt returns the size of the frame at the beginning of data, 0 if there is none of that
// position.
func frameAt(data []byte, at journal.Position) int {
	size, have := headOf(data)
	if size == 0 || have != uint32(at) || size > int64(len(data)) {
		return 0
	}
	if checksum(data[:8], data[frameSize:size]) != binary.LittleEndian.Uint32(data[8:]) {
		return 0
	}
	return int(size)
}

// scan returns the end of the frames at the beginning of a segment, 0 without a header, and
// the position behind them.
func scan(data []byte, first journal.Position) (end int, next journal.Position) {
	if len(data) < headerSize || string(data[:headerSize]) != string(header(first)) {
		return 0, first
	}
	for end, next = headerSize, first; ; next++ {
		n := frameAt(data[end:], next)
		if n == 0 {
			return end, next
		}
		end += n
	}
}

// torn reports whether data may be a part of one frame that was not synced. It is the rest of
// the last segment, from a byte on. Such a part has some of the sectors of the frame, and zeros
// for the others. Any other rest was synced, and is damaged.
func torn(data []byte, from int64, at journal.Position) bool {
	if from == 0 { // the header, which is synced before the first frame
		return len(data) < headerSize || len(data) == headerSize && blank(data, 0)
	}
	if len(data) < frameSize {
		return true
	}
	if size, have := headOf(data); size > 0 && have == uint32(at) {
		return int64(len(data)) < size || int64(len(data)) == size && blank(data, from)
	}
	return blank(data[:frameSize], from) && !follows(data, at)
}

// blank reports whether the part of data in one of its sectors is zero.
func blank(data []byte, from int64) bool {
	for len(data) > 0 {
		n := min(len(data), int(sector-from%sector))
		if zero(data[:n]) {
			return true
		}
		data, from = data[n:], from+int64(n)
	}
	return false
}

func zero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

// follows reports whether there is a frame in data behind its beginning: of a position or a
// later one.
func follows(data []byte, at journal.Position) bool {
	for i := 1; i+frameSize < len(data); i++ {
		size, have := headOf(data[i:])
		// Entries have a dozen bytes or more, so not many positions fit in.
		if p := have - uint32(at); size > 0 && int64(p) <= int64(i/frameSize)+1 && frameAt(data[i:], at+journal.Position(p)) > 0 {
			return true
		}
	}
	return false
}
