package omega

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
)

// errID reports that a text is not a valid ID.
var errID = fault.Text("omega: invalid ID", ErrName)

// MarshalText returns the ID as a text that [AllocationID.UnmarshalText] reads, also in
// another process: the cell's tag in six hexadecimal digits, the node, the slot and the
// number of the machine's change, "00c0de/7/0/42". It is empty for the zero ID. It never
// fails.
func (a AllocationID) MarshalText() ([]byte, error) {
	if a == (AllocationID{}) {
		return []byte{}, nil
	}
	return fmt.Appendf(nil, "%06x/%v", a.tag(), a), nil
}

// UnmarshalText reads the text of MarshalText. It does not look for the allocation in any
// cell. Errors: [ErrName], which leaves a as it was.
func (a *AllocationID) UnmarshalText(text []byte) error {
	if a == nil {
		return absent("ID")
	}
	var id AllocationID
	if len(text) > 0 {
		parts := strings.Split(string(text), "/")
		if len(parts) != 4 {
			return fmt.Errorf("%w: allocation %.80q: want tag/node/slot/change", errID, text)
		}
		tag, err1 := strconv.ParseUint(parts[0], 16, 64-2*indexBits)
		node, err2 := strconv.ParseUint(parts[1], 10, indexBits)
		slot, err3 := strconv.ParseUint(parts[2], 10, indexBits)
		seq, err4 := strconv.ParseUint(parts[3], 10, 62) // the other bits of a slot's seq are above
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return fmt.Errorf("%w: allocation %.80q: want tag/node/slot/change in range", errID, text)
		}
		id = allocationID(uint32(node), uint32(slot), uint32(tag), seq)
	}
	if same, _ := id.MarshalText(); string(same) != string(text) {
		return fmt.Errorf("%w: allocation %.80q: want it written as %q", errID, text, same)
	}
	*a = id
	return nil
}

// MarshalText returns the ID as a text that [MachineID.UnmarshalText] reads, also in
// another process: the cell's tag in six hexadecimal digits and the result of String,
// "00c0de/7" or "00c0de/7.2". It is empty for the zero ID. Errors: [ErrName] for any other
// ID that names no machine.
func (m MachineID) MarshalText() ([]byte, error) {
	switch {
	case m == 0:
		return []byte{}, nil
	case !m.named():
		return nil, fmt.Errorf("%w: machine %v: want one that a cell gave out", errID, m)
	}
	return fmt.Appendf(nil, "%06x/%v", m.tag(), m), nil
}

// UnmarshalText reads the text of MarshalText. It does not look for the machine in any
// cell. Errors: [ErrName], which leaves m as it was.
func (m *MachineID) UnmarshalText(text []byte) error {
	if m == nil {
		return absent("ID")
	}
	var id MachineID
	if len(text) > 0 {
		digits, rest, _ := strings.Cut(string(text), "/")
		number, later, _ := strings.Cut(rest, ".")
		tag, err1 := strconv.ParseUint(digits, 16, 64-tagShift)
		node, err2 := strconv.ParseUint(number, 10, indexBits)
		var generation uint64
		var err3 error
		if later != "" {
			generation, err3 = strconv.ParseUint(later, 10, generationBits)
		}
		if err := errors.Join(err1, err2, err3); err != nil || generation > lastGeneration {
			return fmt.Errorf("%w: machine %.80q: want tag/node or tag/node.generation in range", errID, text)
		}
		id = machineID(uint32(node), uint32(generation), uint32(tag))
	}
	if same, _ := id.MarshalText(); string(same) != string(text) {
		return fmt.Errorf("%w: machine %.80q: want it written as %q", errID, text, same)
	}
	*m = id
	return nil
}
