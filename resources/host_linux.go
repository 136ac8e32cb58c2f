package resources

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

func hostMemory() (int64, error) { return memoryIn(os.DirFS("/")) }

// memoryIn returns the number of bytes that a process with this root directory may
// use: those of the machine, or the smallest cgroup limit if that is less.
func memoryIn(root fs.FS) (int64, error) {
	machine, err := machineMemory(root)
	if err != nil {
		return 0, err
	}
	limit, err := cgroupMemory(root)
	if err != nil {
		return 0, err
	}
	return min(machine, limit), nil
}

// machineMemory reads the line "MemTotal:  24684084 kB".
func machineMemory(root fs.FS) (int64, error) {
	const name = "proc/meminfo"
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:")
		if !ok {
			continue
		}
		number, ok := strings.CutSuffix(strings.TrimSpace(rest), " kB")
		kib, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if !ok || err != nil || kib <= 0 || kib > MaxQuantity>>10 {
			return 0, fmt.Errorf("/%s: %.64q, want MemTotal in kB", name, lines.Text())
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("/%s: want a line MemTotal, have none", name)
}
